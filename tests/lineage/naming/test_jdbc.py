"""Names of tables by JDBC URL: those of the Java client, which Spark's listener uses, and where ours differ."""

from __future__ import annotations

import pytest

from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.lineage.naming.jdbc import from_jdbc

TNS = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1522))(CONNECT_DATA=({}=orcl)))"

LIKE_SPARK = [
    ("postgresql://Test.Host.com", "s.t", "postgres://test.host.com:5432", "s.t"),
    ("postgresql://[3ffe:8311::10.203.31.9]/db", "s.t", "postgres://[3ffe:8311::10.203.31.9]:5432", "db.s.t"),
    ("postgresql://h?user=fred&password=sec%40ret", "s.t", "postgres://h:5432", "s.t"),
    ("postgresql://fred:sec%40ret@h/MyDB", "S.T", "postgres://h:5432", "MyDB.S.T"),
    ("postgresql://h/my%20db", "t", "postgres://h:5432", "my db.t"),
    ("postgresql://h1,h2:5433/db?ssl=true", "s.t", "postgres://h1:5432,h2:5433", "db.s.t"),
    ("postgresql://h/db", "other.s.t", "postgres://h:5432", "other.s.t"),
    ("mysql://h/db", "t", "mysql://h:3306", "db.t"),
    ("mysql://h/db", "other.t", "mysql://h:3306", "other.t"),
    ("mysql:replication://h1,h2:3307/db", "t", "mysql://h1:3306,h2:3307", "db.t"),
    ("mysql:loadbalance://h1:3306,h2:3307/db", "t", "mysql://h1:3306,h2:3307", "db.t"),
    ("mysql+srv:loadbalance://h/db", "t", "mysql://h:3306", "db.t"),
    ("mysql://u:pwd@h1:1111,u:pwd@h2:2222", "s.t", "mysql://h1:1111,h2:2222", "s.t"),
    ("oracle:thin:@//h/svc", "s.t", "oracle://h:1521", "svc.s.t"),
    ("oracle:thin:@h:sid", "s.t", "oracle://h:1521", "sid.s.t"),
    ("oracle:thin:@h:1522:sid", "s.t", "oracle://h:1522", "sid.s.t"),
    ("oracle:thin:@tcps://h:2484/svc?retry_count=3", "s.t", "oracle://h:2484", "svc.s.t"),
    ("oracle:thin:fred/sec%40ret@h", "s.t", "oracle://h:1521", "s.t"),
    ("oracle:thin:@//[::1]/svc", "s.t", "oracle://[::1]:1521", "svc.s.t"),
    ("oracle:thin:@h1:1521,h2:1522", "s.t", "oracle://h1:1521,h2:1522", "s.t"),
    ("oracle:thin:@tnsname", "s.t", "oracle://tnsname:1521", "s.t"),
    ("ORACLE:THIN:@H.COM:SID", "S.T", "oracle://h.com:1521", "SID.S.T"),
    ("oracle:thin:@ldap://oid:5000/db1,cn=OracleContext,dc=com", "s.t", "oracle://oid:5000", "db1.s.t"),
    ("oracle:thin:@ldaps:h:5000/cn=x,dc=com/db1 ldap:h2:1/cn=x/db1", "s.t", "oracle://h:5000", "db1.s.t"),
    (f"oracle:thin:@{TNS.format('SERVICE_NAME')}", "s.t", "oracle://h:1522", "orcl.s.t"),
    (f"oracle:oci:@{TNS.format('SID')}", "s.t", "oracle://h:1522", "orcl.s.t"),
    (f"oracle:thin:@{TNS.format('INSTANCE_NAME')})", "s.t", f"oracle:thin:@{TNS.format('INSTANCE_NAME')})", "s.t"),
    (
        "oracle:thin:@(DESCRIPTION= (ADDRESS_LIST= (LOAD_BALANCE=ON) (ADDRESS=(HOST=a)(PORT=1)) (ADDRESS=(HOST=b))) "
        "(CONNECT_DATA=(SERVICE_NAME=sales.us.example.com)))",
        "s.t",
        "oracle://a:1,b:1521",
        "sales.us.example.com.s.t",
    ),
    ("sqlserver://h;databaseName=db;user=a;password=b", "s.t", "sqlserver://h", "db.s.t"),
    ("sqlserver://h:1433;database=db", "s.t", "sqlserver://h:1433", "db.s.t"),
    ("sqlserver://h;portNumber=1433", "s.t", "sqlserver://h:1433", "s.t"),
    ("sqlserver://H\\INST;DATABASENAME=DB", "S.T", "sqlserver://h/INST", "DB.S.T"),
    ("sqlserver://;serverName=3ffe:8311::10.203.31.9", "s.t", "sqlserver://[3ffe:8311::10.203.31.9]", "s.t"),
    ("jtds:sqlserver://h:1433/db;instance=i", "s.t", "sqlserver://h:1433/i", "db.s.t"),
    ("teradata://h/DATABASE=db,DBS_PORT=1111,USER=fred", "s.t", "teradata://h:1111", "db.s.t"),
    ("teradata://[::1]", "s.t", "teradata://[::1]:1025", "s.t"),
    ("cassandra://[::1]--127.0.0.1:9042--h1/ks", "t", "cassandra://[::1]:9042,127.0.0.1:9042,h1:9042", "ks.t"),
    ("clickhouse://h:9000/db", "t", "clickhouse://h:9000", "db.t"),
    ("ch:https://h:8443/db", "s.t", "clickhouse://h:8443", "s.t"),
    ("crate://h/", "s.t", "crate://h:5432", "s.t"),
    ("db2://h/db", "s.t", "db2://h:6789", "db.s.t"),
    ("trino://h/cat", "s.t", "trino://h:443", "cat.s.t"),
    ("oceanbase:hamode://h/db", "t", "oceanbase://h:2881", "db.t"),
    ("derby:;databaseName=../x/db", "s.t", "file:/base/x/db", "s.t"),
    ("mariadb://H/db", "t", "mariadb://h", "db.t"),
    ("unknown://h/a/b", "t", "unknown://h", "a/b.t"),
    ("unknown://fred:sec%40ret@h1:1,fred:sec%40ret@h2:2", "s.t", "unknown://h1:1,h2:2", "s.t"),
    ("unknown://h:user=fred;password=sec%40ret", "s.t", "unknown://h", "s.t"),
    ("unknown://h;ssl=true;applicationName=MyApp;", "s.t", "unknown://h;ssl=true;applicationName=MyApp;", "s.t"),
    ("unknown://3ffe:8311:ee:f70f:0:5e:1.2.3.4", "s.t", "unknown://3ffe:8311:ee:f70f:0:5e:1.2.3.4", "s.t"),
    ("h2:mem:testdb", "t", "h2:mem:testdb", "t"),
    ("sqlite:/a/b.db", "t", "sqlite:/a/b.db", "t"),
]
"""URL without ``jdbc:``, table, namespace, name; these equal the names by ``JdbcDatasetUtils`` of client 1.54."""

UNLIKE_SPARK = [
    # The specification has another rule.
    (
        "redshift://c1.x7y.us-west-2.redshift.amazonaws.com:5439/dev",
        "s.t",
        ("redshift://c1.us-west-2:5439", "dev.s.t"),
        [("redshift://c1.x7y.us-west-2.redshift.amazonaws.com:5439", "dev.s.t")],
    ),
    ("redshift:iam://c1:us-west-2/dev", "s.t", ("redshift://c1.us-west-2:5439", "dev.s.t"), []),
    (
        "snowflake://org-acct.snowflakecomputing.com/?db=db&schema=s&user=u",
        '"My T"',
        ("snowflake://org-acct", 'DB.S."My T"'),
        [("snowflake://org-acct", "DB.S.My T"), ("snowflake://org-acct.snowflakecomputing.com", '"My T"')],
    ),
    (
        "sqlserver://x.sql.azuresynapse.net;databaseName=pool",
        "dbo.t",
        ("sqlserver://x.sql.azuresynapse.net:1433", "dbo.t"),
        [
            ("sqlserver://x.sql.azuresynapse.net:1433;database=pool;", "pool.dbo.t"),
            ("sqlserver://x.sql.azuresynapse.net", "pool.dbo.t"),
        ],
    ),
    (
        "sqlserver://x.datawarehouse.fabric.microsoft.com:1433;databaseName=wh",
        "dbo.t",
        ("fabric-warehouse://x.datawarehouse.fabric.microsoft.com", "wh.dbo.t"),
        [("sqlserver://x.datawarehouse.fabric.microsoft.com:1433", "wh.dbo.t")],
    ),
    ("sqlserver://h;databaseName=db", "dbo.t", ("sqlserver://h", "db.dbo.t"), [("mssql://h:1433", "db.dbo.t")]),
    ("hive2://h/db", "t", ("hive://h:10000", "db.t"), [("hive2://h:10000", "db.t")]),
    (
        "databricks://x.cloud.databricks.com:443;httpPath=sql/1;ConnCatalog=main;ConnSchema=shop",
        "t",
        ("unitycatalog://x.cloud.databricks.com", "main.shop.t"),
        [("databricks://x.cloud.databricks.com:443", "t")],
    ),
    ("bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=p;OAuthType=1", "d.t", ("bigquery", "p.d.t"), []),
    (
        "awsathena://AwsRegion=us-east-1;User=AKIA;Password=x",
        "db.t",
        ("awsathena://athena.us-east-1.amazonaws.com", "AwsDataCatalog.db.t"),
        [],
    ),
    ("cloudspanner:/projects/p/instances/i/databases/d?x", "t", ("spanner://p:i", "d.t"), []),
    # The listener does not understand the URL, or does not normalize it.
    ("postgresql:db", "s.t", ("postgres://localhost:5432", "db.s.t"), []),
    ("postgresql:///db", "s.t", ("postgres://localhost:5432", "db.s.t"), []),
    ("postgresql://my_host:5432/db", "s.t", ("postgres://my_host:5432", "db.s.t"), []),
    (
        "postgresql://h/db?currentSchema=shop,public",
        "t",
        ("postgres://h:5432", "db.shop.t"),
        [("postgres://h:5432", "db.t")],
    ),
    (
        "postgresql://h/db",
        '"shop"."My.Orders"',
        ("postgres://h:5432", "db.shop.My.Orders"),
        [("postgres://h:5432", '"shop"."My.Orders"')],
    ),
    ("mysql://h/db", "`t`", ("mysql://h:3306", "db.t"), [("mysql://h:3306", "db.`t`")]),
    (
        "mysql://address=(host=h1)(port=1111)(user=sandy)(password=sec%40ret),address=(host=h2)/db",
        "t",
        ("mysql://h1:1111,h2:3306", "db.t"),
        [],
    ),
    ("mysql://sandy:secret@[h1:1111,(host=h2,port=2222,key2=v)]/db", "t", ("mysql://h1:1111,h2:2222", "db.t"), []),
    ("oracle:thin:@h1:1521,h2", "s.t", ("oracle://h1:1521,h2:1521", "s.t"), []),
    (f"oracle:thin:@{'(a=' * 51}{')' * 51}", "s.t", (f"oracle:thin:@{'(a=' * 51}{')' * 51}", "s.t"), []),
    ("oracle:thin:@(ADDRESS=(HOST=::1)(PORT=1522))", "s.t", ("oracle://[::1]:1522", "s.t"), []),
    ("oracle:thin:@//h:1521/svc:dedicated/inst", "s.t", ("oracle://h:1521", "svc.s.t"), []),
    ("trino://h:8080/cat/s", "t", ("trino://h:8080", "cat.s.t"), [("trino://h:8080", "cat/s.t")]),
    ("db2://h/db:user=a;password=b;", "s.t", ("db2://h:6789", "db.s.t"), []),
    ("cassandra://h/ks", "other.t", ("cassandra://h:9042", "other.t"), [("cassandra://h:9042", "ks.other.t")]),
    (
        "sqlserver://[::1];databaseName={my;db};password={a;databaseName=b}",
        "dbo.t",
        ("sqlserver://[::1]", "my;db.dbo.t"),
        [("mssql://[::1]:1433", "my;db.dbo.t")],
    ),
]


@pytest.mark.parametrize(("url", "table", "namespace", "name"), LIKE_SPARK)
def test_names_of_the_listener(url: str, table: str, namespace: str, name: str) -> None:
    assert from_jdbc(f"jdbc:{url}", table, base="/base/dir").current == Identifier(namespace, name)


@pytest.mark.parametrize(("url", "table", "current", "others"), UNLIKE_SPARK)
def test_names_that_the_listener_lacks(
    url: str, table: str, current: tuple[str, str], others: list[tuple[str, str]]
) -> None:
    names = from_jdbc(f"JDBC:{url}", table).in_edition()
    assert names.primary == Identifier(*current)
    assert list(names.symlinks) == [Identifier(*other) for other in others]


@pytest.mark.parametrize(
    ("url", "table", "message"),
    [
        ("jdbc:", "t", "the JDBC URL names no driver or no server"),
        ("jdbc:postgresql:", "t", "the JDBC URL names no driver or no server"),
        ("jdbc:trino:///cat", "t", "the JDBC URL names no server"),
        ("jdbc:sqlserver://;databaseName=x", "t", "the address has no host"),
        ("jdbc:postgresql://h/db", " ", "the table is missing"),
        ("jdbc:postgresql://h/db", "(select 1) q", "the table is a query"),
        ("jdbc:postgresql://h/db", "SELECT 1", "the table is a query"),
        ("jdbc:postgresql://h/db", "a..b", "the table is not the name of a table"),
        ("jdbc:postgresql://h/db", 'a."b', "the table is not the name of a table"),
        ("jdbc:bigquery://https://x:443;OAuthType=1", "d.t", "the JDBC URL has no ProjectId, or the table no data set"),
    ],
)
def test_no_name(url: str, table: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_jdbc(url, table)
    assert str(caught.value) == message
