"""The same queries on DataFusion and, translated, on Spark: values, types and names of columns must be equal.

Documented differences of types: what is unsigned is BIGINT; times have microseconds. Values of times are compared in
microseconds, since Spark has nothing finer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import decimal128 as decimal

from airflow_provider_odf.dialect.datafusion import ENGINE
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRANSLATED = {
    "numbers": """
        1 | -5 | 1.5 | .5 | 1e3 | 9223372036854775807 | null | true
        i + 1 | j + 1 | i + j | j * 2 | i - k | i / 2 | i / k | j / 2 | i % 3 | -7 % 3 | -7 / 2 | -i | -d | i - -k
        d + 1 | d / 2 | d * d | d % 2 | d % 0.7 | f + f | f * 2 | f + d | f * f | 1.5 + 2 | 2 * (i + 1) / 3
        m + n | m - n | m * n | m + 1 | m * 2 | m + d | m * 0.5 | m % 2 | -m | d - m | m / 2.5 | m % 0.7
        abs(i) | abs(f) | abs(m) | abs(d) | ceil(d) | ceil(i) | ceil(-0.5) | floor(d) | floor(e) | floor(-0.0)
        round(d) | round(d, 1) | round(e, 2) | round(e) | round(m) | round(m, 1) | round(i) | round(1.005, 2)
        round(-0.4)
        signum(d) | signum(i) | signum(-0.0) | sqrt(e) | pow(10.0, 18) | power(2.5, 3) | pow(10, -1) | pi()
        isnan(d) | iszero(d) | nanvl(d, 0.0)
    """,
    "comparisons": """
        i = 1 | j = 2 | i = j | i = d | d = 0 | d = 0.0 | d < 0.5 | f = 1.5 | f < d | f = j | m = 1.5 | m > n | m = 2
        m = -2.55 | 0.01 >= m | m between 0 and 1.5 | m in (1.5, i) | m in (0.5, null, n) | m between n and 1.5
        m in (1.5, 2, -1.25) | m is distinct from 1.5 | n < 1.005
        m > 1e-20
        s = u | s < u | s > '' | b = c | i <> 1 | i != k | i >= k | i <= k | b > c
        dt = '2020-01-02' | dt > date '2020-01-01' | ts > '2020-01-02' | ts < tz | ts = tz | ts > dt
        ts >= timestamp '2020-02-29T00:00:00Z' | ts between '2020-01-01' and '2021-01-01'
        i is null | i is not null | b is true | b is not true | b is not false | i is distinct from k
        i is not distinct from k | s is not distinct from null | i between 0 and 5 | i not between 0 and 5
        d between 0 and 5
        i in (1, 2, null) | i not in (1, 2) | s in ('abc', '') | not b | b and c | b or c | not (b and c) or i > 0
        s like 'a%' | s like '%\\%%' | s not like '%l%' | s ilike 'H%' | s like '_' | s like ''
    """,
    "conditions": """
        case when i > 0 then 'p' when i < 0 then 'n' end | case i when 1 then 'one' when 7 then 'seven' else 'x' end
        case when b then 1 else 2.5 end | case when b then j else i end | case when b then m else n end
        case when b then null else i end | case when b then ts else null end | case when b then dt else ts end
        case when b then m else i end | case when b then f else d end | case when b then j else f end
        coalesce(i, k) | coalesce(j, i) | coalesce(s, u, 'x') | coalesce(d, 1) | coalesce(null, 1) | coalesce(m, n)
        coalesce(dt, ts) | nvl(i, 0) | ifnull(s, 'x') | nvl2(s, 'a', 'b') | nvl2(i, j, k)
        nvl(b, c) | nvl(j, 2) | nvl(f, 1) | nvl(d, 0) | nvl(i, 1.5) | nvl2(i, 'a', s) | nvl2(d, 1.5, e) | nvl2(m, m, n)
        case when null then 1 else 2 end | case when i = 1 then 1 when null then 3 end | not null | null and b
        coalesce(m, 0.5) | coalesce(0.5, m, n) | case when b then m else 0.005 end | nullif(m, 1.5) | nullif(1.5, m)
        case when b then 1.25 when c then m else n end | greatest(m, 0.5) | case m when 1.5 then 1 when 2 then 2 end
        nullif(i, 1) | nullif(s, '') | nullif(j, 2) | nullif(d, 2) | nullif(m, 2)
        greatest(i, k) | greatest(s, u) | greatest(dt, dz) | greatest(j, i) | least(i, k) | least(m, n)
    """,
    "casts": """
        cast(j as bigint) | cast(k as smallint) | cast(i as double) | cast(i as float) | cast(i as varchar) | i::text
        cast(i as boolean) | cast(k as decimal(10,2)) | cast(b as int) | cast(b as varchar) | cast(d as float)
        cast(f as double) | cast(-e as bigint) | cast(e as int) | cast(m as varchar) | cast(m as double)
        cast(m as bigint)
        cast(n as int) | cast(m as decimal(12,1)) | cast(n as decimal(10,1)) | cast(m as decimal(14,3))
        cast(w as bigint)
        cast(x as double) | cast(x as float) | cast('1.555' as decimal(10,2)) | cast(' +.5 ' as decimal(10,2))
        cast('00005.' as decimal(4,2)) | cast('-1.545' as decimal(10,2))
        cast(' 1' as bigint) | cast('+1' as bigint) | cast('yes' as boolean) | cast('T' as boolean)
        cast('inf' as double)
        cast(y as date) | cast(v as timestamp) | cast(dt as varchar) | cast(dt as timestamp) | cast(dt as int)
        cast(ts as date) | cast(ts as varchar) | cast(ts as bigint) | cast(ts as timestamp) | cast(null as int)
        cast(to_timestamp(v) as varchar) | cast(to_timestamp_seconds(k) as bigint) | try_cast(w as int)
        try_cast(s as int) | try_cast(' 3' || chr(11) as int) | try_cast(chr(9) || '3 ' as int)
        arrow_cast(j, 'Int64') | arrow_cast(k, 'Utf8') | arrow_cast(d, 'Float32') | arrow_cast(ts, 'Int64')
        arrow_cast(k, 'Timestamp(Second, None)') | arrow_cast(i, 'Timestamp(Millisecond, None)')
        arrow_cast(ts, 'Timestamp(Nanosecond, None)') | arrow_cast(m, 'Decimal128(20, 4)')
    """,
    "text": """
        'a\\d' | 'it''s' | '${spark.master}' | '$' | upper(s) | lower(s) | upper('ŉ ǰ ß ﬁ') | lower('İSTANBUL ΑΣ')
        ascii(s) | bit_length(s) | octet_length(s) | char_length(s) | character_length(s) | length(s) | chr(65)
        btrim(s) | btrim(s, 'a') | ltrim(s) | ltrim(s, 'aH') | rtrim(s) | rtrim(s, 'c') | trim(s) | trim('	a	')
        trim(leading 'a' from s) | trim(both ' x' from s) | trim(trailing 'd' from s)
        concat(s, u) | concat(s, '-', u) | concat(s, i) | concat(s, b, dt, m) | concat_ws('-', s, u)
        concat_ws('-', s, i)
        s || u | s || 'x' | s || i | i || 'x' | contains(s, 'b') | contains(s, u) | starts_with(s, u)
        ends_with(s, 'c')
        find_in_set(u, 'a,b,c') | instr(s, 'b') | strpos(s, 'l') | strpos(s, '') | position('l' in s)
        levenshtein(s, u)
        left(s, 2) | left(s, -2) | left(s, 0) | left(s, -100) | right(s, 2) | right(s, -2) | right(s, -100)
        lpad(s, 5, '*') | lpad(s, 5) | lpad(s, 0) | rpad(s, 5, 'xy') | rpad(s, 5) | lpad(s, 5, '')
        repeat(s, 2) | repeat(s, -1) | replace(s, 'b', 'Z') | replace(s, '', 'Z') | reverse(s)
        split_part(s, '.', 2) | split_part(s, '.', -1) | split_part(s, '.', -2) | split_part(s, '.', 9)
        substr(s, 2) | substr(s, 2, 3) | substr(s, 0, 3) | substr(s, -1, 3) | substr(s, -1) | substr(s, k)
        substr('abcdef', j % 5, k) | substr('abcdef', k)
        substr(s, strpos(s, '.') + 1) | substr(s, 2, k) | substring(s, 2, 3) | substring(s from 2 for 3)
        substring(s from 0)
        substr_index(s, '.', 1) | substring_index(s, '.', -1) | to_hex(i) | translate(s, 'abc', 'xy')
        md5(s) | encode(sha256(s), 'hex') | sha224(s) | sha256(s) | sha384(s) | sha512(s)
    """,
    "patterns": r"""
        s ~ 'b' | s ~ '^[A-Z]' | s ~* 'h' | s !~ 'b' | s ~ '\.$' | s ~* 'äPFEL' | regexp_like(s, 'b')
        regexp_like(s, 'B', 'i')
        regexp_like(s, '^\w+$') | regexp_like(s, '\d') | regexp_like(s, '[^a-z ]') | regexp_like(s, '^(a|b)+.c{1,2}$')
        regexp_like('a' || chr(10), 'a$') | regexp_like('٣', '\d') | regexp_like('a' || chr(13) || 'b', 'a.b')
        regexp_count(s, 'l') | regexp_count(s, '[a-c]') | regexp_replace(s, 'l', 'L') | regexp_replace(s, 'l', 'L', 'g')
        regexp_replace(s, '(.)b', '${1}X') | regexp_replace(s, '(.)b', '\1X1', 'g')
        regexp_replace(s, '[a-z]+', '<${0}>', 'g')
        regexp_replace(s, '(.)b', '<${0}>') | regexp_replace(s, '(.)(b)', '\2\1') | regexp_replace(s, '\s+', '')
        regexp_replace(s, '\s+', '', 'g') | regexp_replace(s, '(a|b)$', 'X1') | regexp_replace(s, 'o$|l', 'X', 'g')
        regexp_replace(s, 'B', 'x', 'gi') | regexp_replace(s, 'x*', '-')
    """,
    "times": """
        date '2020-01-01' | timestamp '2020-02-29T00:00:00Z' | dt - dz | dt + 1 | dt - 1 | dt + interval '1' day
        dt - interval '1 month' | ts + interval '1' day | ts - interval '1 month' | ts + interval '-1' day
        interval '1 day' + ts | ts + interval '1 year 2 months 3 days 4 hours 5 minutes 6 seconds'
        ts + interval '1 week'
        date_part('year', ts) | date_part('month', dt) | date_part('dow', ts) | date_part('doy', ts)
        date_part('week', ts)
        date_part('quarter', dt) | date_part('epoch', ts) | date_part('hour', ts) | date_part('minute', ts)
        date_part('second', ts) | date_part('millisecond', ts) | date_part('microsecond', ts) | date_part('isodow', ts)
        date_part('isoyear', ts) | datepart('day', dt) | extract(day from ts) | extract(year from dt)
        extract(epoch from dt)
        extract(dow from dt) | extract(isoyear from dt) | extract(week from dt)
        date_trunc('day', ts) | date_trunc('month', dt) | date_trunc('week', ts) | date_trunc('week', dt)
        date_trunc('hour', ts)
        date_trunc('quarter', ts) | date_trunc('second', ts) | date_trunc('millisecond', ts) | datetrunc('year', ts)
        date_bin(interval '15 minutes', ts) | date_bin(interval '1 day', ts, timestamp '2020-01-01T00:00:00')
        date_bin(interval '7 minutes', ts, timestamp '2020-01-01T00:00:00')
        to_date(y) | to_date('2020/01/02', '%Y/%m/%d') | make_date(2020, 1, 2) | make_date(k, 1, 2)
        to_timestamp(v) | to_timestamp(k) | to_timestamp(ts) | to_timestamp_seconds(v) | to_timestamp_seconds(i)
        to_timestamp_seconds('1969-12-31T23:59:58.5') | to_timestamp_millis(i) | to_timestamp_millis(v)
        to_timestamp_millis('1969-12-31T23:59:58.9995') | to_timestamp_micros(i) | to_timestamp_micros(v)
        to_timestamp_nanos(i)
        to_timestamp('02/01/2020', '%d/%m/%Y') | to_timestamp('2020/01/02 03:04:05+00', '%Y/%m/%d %H:%M:%S%#z')
        to_timestamp('2020-01-02 03:04:05', '%Y-%m-%d %H:%M:%S')
        to_timestamp('1/2/2020', '%d/%m/%Y') | to_date('1/12/2020', '%d/%m/%Y') | to_date('20200102', '%Y%m%d')
        to_timestamp('2020-1-2 3:4:5', '%Y-%m-%d %H:%M:%S') | to_timestamp('2020-1-2 3:04 pm', '%Y-%m-%d %I:%M %p')
        to_timestamp('2020-01-02 12:04AM', '%F %I:%M%p') | to_date('2020-01-02 23:04 -05:00', '%F %R %z')
        to_timestamp('2020-01-02T03:04:05', '%FT%T%.3f') | to_timestamp('2020-01-02T03:04:05.123', '%FT%T%.3f')
        to_timestamp('2020-01-02T03:04:05', '%FT%T%.f') | to_timestamp('2020-01-02T03:04:05.12345', '%FT%T%.f')
        to_timestamp('2020-01-02 03:04:05123', '%F %T%3f') | to_timestamp_seconds('1 jan 2020', '%d %b %Y')
        to_timestamp(cast(null as varchar), '%d/%m/%Y') | to_date(cast(null as varchar), '%Y%m%d')
        to_timestamp('Jan 02 2020 03h04', '%b %d %Y %Hh%M')
        to_timestamp('2020-01-02T03:04:05.123', '%Y-%m-%dT%H:%M:%S%.f')
        to_unixtime(ts) | to_unixtime(dt) | from_unixtime(k) | to_local_time(ts)
        to_char(ts, '%Y-%m-%d %H:%M:%S') | to_char(dt, '%d/%m/%Y') | to_char(ts, '%b %j %I %p %.3f')
        date_format(ts, '%A %y')
        current_date = today() | now() = current_timestamp() | current_timestamp >= '2020-01-01' | current_date() > dt
    """,
    "arrays": """
        array[1, 2] | array[m, 0.5] | array[1, null] | [1.5, 2] | make_array(i, k) | make_list(s, 'x') | l[1] | l[-1]
        l[9] | l[0]
        ls[2]
        array_length(l) | list_length(ls) | cardinality(l) | array_element(l, 1) | list_extract(l, -1)
        array_extract(l, 2)
        list_element(ls, 1) | array_has(l, 1) | array_contains(ls, 'a') | list_has(ls, '') | list_contains(l, 5)
        array_position(l, 3) | list_position(l, 1) | array_indexof(ls, 'a') | list_indexof(l, 5) | array_append(l, 9)
        list_append(l, k) | array_push_back(ls, 'q') | list_push_back(l, 1) | array_prepend(9, l)
        list_prepend('q', ls)
        array_push_front(9, l) | list_push_front(9, l) | array_distinct(l) | list_distinct(ls) | array_sort(l)
        list_sort(ls)
        array_reverse(l) | list_reverse(ls) | array_max(l) | list_max(ls) | array_min(l) | array_slice(l, 1, 2)
        list_slice(ls, 2, 3) | array_to_string(ls, ',') | list_to_string(ls, '') | array_join(ls, '-')
        list_join(ls, '-')
        string_to_array(s, '.') | string_to_array(s, 'b.') | st.x | st['y'] | get_field(st, 'x') | struct(1, 'a')
        row(k, s)
        named_struct('p', i, 'q', s)
    """,
}

QUERIES = [
    "select count(*) as a, count(i) as b, count(distinct j) as c, count(1) as d, sum(i) as e, sum(j) as f, "
    "sum(m) as g, avg(k) as h, avg(e) as i, mean(k) as j, min(s) as k, max(ts) as l, min(d) as m, max(d) as n, "
    "min(f) as o, sum(f) as p, bool_and(b) as q, bool_or(c) as r, bit_and(k) as s, bit_or(k) as t, bit_xor(k) as u, "
    "sum(distinct k) as v from input",
    "select g, count(*) as n, sum(k) as t from input group by g order by g",
    "select g, count(*) as n from input group by 1 order by 2 desc, 1",
    "select g as grp, count(*) as n from input group by grp order by grp",
    "select upper(g) as g, count(*) as n from input group by g order by 1",
    "select case when g = 'p' then 'z' else g end as g, count(*) as n from input group by g order by 1, 2",
    "select g, sum(k) as t from input group by g having sum(k) > 10 order by g",
    "select sum(k) filter (where b) as a, count(*) filter (where i > 0) as b from input",
    "select distinct g from input order by g desc",
    "select r, i from input order by i desc, r limit 3",
    "select r, i from input order by i limit 3 offset 1",
    "select r from input order by i nulls first",
    "select r from input order by d desc, r",
    "select -r as r from input order by r",
    "select -r as r from input order by -r",
    "select i as r, r as i from input order by r",
    "select r from input where i is not null and s <> '' order by r",
    "select a.r, b.s from input a join input b on a.r = b.i order by 1",
    "select a.r, b.s from input as a left join input as b on a.r = b.i and b.k > 2 order by 1",
    "select a.r, b.r as r2 from input a cross join (select r from input where r < 3) b order by 1, 2",
    "select a.r from input a left semi join input b on a.r = b.i order by a.r",
    "select a.r from input a left anti join input b on a.r = b.i order by a.r",
    "select a.r, b.k from input a full join input b on a.r = b.i order by 1, 2",
    "select r from input where r in (select i from input where i is not null) order by r",
    "select r from input a where exists (select 1 from input b where b.i = a.r) order by r",
    "select r from input where i = (select max(i) from input) order by r",
    "select r, (select max(k) as m from input) as mk from input order by r",
    "with t as (select r, i from input), u as (select r from t where i < 0) select * from u order by r",
    "select * from (select r, upper(s) as s from input) x order by r",
    "select r from input union all select i from input order by 1",
    "select r from input union all select j from input order by 1",
    "select g from input union select u from input order by 1",
    "select g from input except select u from input order by 1",
    "select g from input intersect select u from input order by 1",
    "select r, row_number() over (partition by g order by r) as n, rank() over (order by g) as k, "
    "dense_rank() over (order by g desc) as d, lag(i) over (order by r) as l, lead(i, 2, 0) over (order by r) as e "
    "from input order by r",
    "select r, sum(k) over (partition by g order by r) as a, count(*) over () as c, sum(k) over (order by g) as d, "
    "sum(k) over (order by r rows between 1 preceding and current row) as b, "
    "avg(k) over (order by r rows between unbounded preceding and unbounded following) as e from input order by r",
    "select r, first_value(s) over (partition by g order by r) as a, "
    "last_value(s) over (partition by g order by r) as b, nth_value(i, 2) over (order by r) as c, "
    "ntile(3) over (order by r) as d, percent_rank() over (order by g) as e, cume_dist() over (order by g) as f "
    "from input order by r",
    'select "r" as "R x", 1 as "a.b" from input order by "R x"',
    "select t.st.x as a, st.y as b, st['x'] as c from input t order by r",
    "select input.* from input order by r",
    "select *, i + 1 as z from input order by r",
]

BOTH_FAIL = [
    "cast(i as int)", "cast('' as bigint)", "cast('1.0' as bigint)", "cast(d as bigint)", "i / 0", "sqrt(-1.0)",
    "to_timestamp('2020-02-30')", "to_timestamp(v || 'x')", "cast(m as decimal(5,1))", "cast('abc' as boolean)",
    "cast('1e2' as decimal(10,2))", "cast('12E-1' as decimal(10,2))", "cast('.' as decimal(10,2))",
    "to_timestamp('011/02/2024', '%d/%m/%Y')", "to_timestamp('1/2/20241', '%d/%m/%Y')",
    "to_date('30/2/2024', '%d/%m/%Y')",
    "to_timestamp('2020-01-02T03:04:05.1', '%FT%T%.3f')", "to_timestamp('2020-01-02T03:04:05.5.5', '%FT%T%.f')",
    "to_timestamp('2020-01-02T03:04:0512', '%FT%T%3f')",
]  # fmt: skip
"""Where DataFusion stops, Spark must not give values."""

REFUSED = [
    "m / n", "cast(d as varchar)", "cast(e as decimal(10,2))", "concat(s, d)", "w = 1", "i = '1'", "w > 5", "ts - tz",
    "stddev(i)", "ln(e)", "exp(e)", "pow(e, 2)", "array_agg(i)", "string_agg(s, ',')", "avg(m)", "initcap(s)",
    "regexp_match(s, 'a')", "regexp_like(s, '[a-z&&[^b]]')", "regexp_like(s, '[[:alpha:]]')", "to_timestamp(e)",
    "to_timestamp_seconds(ts)", "dt + interval '1 hour'", "interval '1 day'", "cast(i as bigint unsigned)", "random()",
    "arrow_typeof(i)", "date_bin(interval '1 month', ts)", "to_char(ts, '%e')", "to_timestamp(v, '%y')",
    "cast(ts as time)",
    "try_cast(x as double)", "s similar to 'a'", "i & 3", "ts at time zone 'UTC'", "array_has(l, null)",
    "i in (1.0, 2)",
    "regexp_replace(s, 'x*', '-', 'g')", "regexp_replace(s, 'a', '$1a')", "first_value(i)", "round(d, -1)", "trunc(d)",
    "greatest(d, e)", "m = d", "m < d + 1", "m in (1.5, d)", "m between 0.5 and d", "m is distinct from d",
    "coalesce(m, d)",
    "nullif(m, d)", "nullif(d, m)", "case when b then m else d end", "case when b then m when c then i else 0.5 end",
    "array[m, d]", "m = 1e16", "coalesce(m, 1e16)", "case m when d then 1 end", "m = 0.5 + 0.5",
    "ifnull(m, 0)", "nvl(m, i)", "nvl(m, n)", "ifnull(dt, ts)", "nvl(dt, dz)", "nvl(ts, ts)", "nvl2(s, 1, 1.5)",
    "nvl2(s, i, j)", "nvl2(d, i, j)", "nvl2(m, 1, 2)", "nvl2(b, 1, 2)", "nvl2(ts, 'a', 'b')", "nvl2(dt, 1, 2)",
    "to_timestamp(v, '%F %H')", "to_timestamp(v, '%F %I %p')", "to_timestamp(v, '%F %I:%M')",
    "to_timestamp(v, '%F %M')",
    "to_timestamp(v, '%F %S')", "to_timestamp(v, '%F %H:%S')", "to_timestamp(v, '%F %M:%S')", "to_date(v, '%F %H %z')",
    "to_timestamp(v, '%F %z')", "to_timestamp(v, '%F %R%.3f')", "to_timestamp(v, '%F %R %p')",
    "to_timestamp(v, '%Y-%m')",
    "to_date(v, '%Y')", "to_date(v, '%m-%d')", "to_timestamp(v, '%H:%M')", "to_timestamp(v, 'x%Y')",
    "to_timestamp_seconds(v, '%F', '%d/%m/%Y')", "to_timestamp(v, '%F %d')",
]  # fmt: skip
"""What differs in details, or would: refused before it runs."""


DECIMALS = {
    "a": (decimal(18, 0), ["999999999999999999", "1", None]),
    "b": (decimal(37, 2), ["12345678901234567890123456789012345.67", "-0.01", None]),
    "c": (decimal(38, 10), ["-1234567890123.1234567891", "1.5000000001", "1.5"]),
    "d": (decimal(36, 36), ["0.123456789012345678901234567890123456", "-0.100000000000000000000000000000000001", None]),
    "e": (decimal(30, 20), ["0.50000000000000000001", "-1.1", None]),
    "f": (decimal(35, 0), ["-99999999999999999999999999999999999", "1", None]),
}
LONG_DECIMALS = [
    "a = 1e18", "a <> 1e18", "a is distinct from 1e18", "a = 999999999999999999.0", "a > 999999999999999998.5",
    "a in (1e18, 1, 0.5)", "a between 0.5 and 1e18", "a > 0.1234567890123456", "c = 1.5", "c > 1.4999", "e = 0.5",
    "e = -1.1",
    "coalesce(a, 0.5)", "case when a > 1 then a else 0.1234567890123456789 end", "nullif(a, 1e18)", "coalesce(e, 1.1)",
    "coalesce(a, 1234567.891)", "-b", "- d", "-f", "abs(b)", "abs(d)", "abs(f)", "-(b)", "abs(-f)", "-a", "abs(e)",
]  # fmt: skip
LONG_REFUSED = {
    "-c": "the sign of DECIMAL(38,10) cannot be changed exactly (cast to DECIMAL(37,10) first)",
    "abs(c)": "the sign of DECIMAL(38,10) cannot be changed exactly (cast to DECIMAL(37,10) first)",
    "a = cast(999999999999999999 as double)": "compared in different ways (cast one of them)",
    "a + 0.5": "DECIMAL(18,0) with DOUBLE in different ways (cast the DECIMAL to DECIMAL(15, scale) first)",
    "1.5 * b": "engines round DOUBLE with DECIMAL(37,2) in different ways",
    "c = 0.12345678901": "",
    "coalesce(c, 1.5)": "have no type in common",
    "d = 0.1": "compared in different ways",
}


def _expressions(block: str) -> list[str]:
    return [e.strip() for line in block.strip().splitlines() for e in line.split(" | ")]


@pytest.fixture(scope="module")
def on_datafusion(rows: pa.Table) -> Callable[[str], pa.Table]:
    import datafusion

    settings = datafusion.SessionConfig().set("datafusion.sql_parser.enable_ident_normalization", "false")
    context = datafusion.SessionContext(settings)
    context.register_record_batches("input", [rows.to_batches()])
    return lambda query: context.sql(query).to_arrow_table()


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, rows: pa.Table) -> Callable[[str], pa.Table]:
    spark.createDataFrame(rows).coalesce(1).createOrReplaceTempView("input")
    return lambda query: spark.sql(query).toArrow()


def _type(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "timestamp"
    name = str(type_).replace("item:", "element:").replace(" not null", "").replace("uint64", "int64")
    return name.replace("large_", "").replace("string_view", "string")


def _values(column: pa.ChunkedArray) -> list[str]:
    """Values as text: it tells -0.0 from 0.0 and takes NaN for equal."""
    if pa.types.is_timestamp(column.type):
        factor = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}[column.type.unit]
        if column.type.unit == "ns":
            column = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False)
        return [str(None if v is None else v * factor) for v in column.cast(pa.int64()).to_pylist()]
    return [repr(v) for v in column.to_pylist()]


def _difference(query: str, theirs: pa.Table, ours: pa.Table) -> str:
    types = [[_type(field.type) for field in table.schema] for table in (theirs, ours)]
    if types[0] != types[1] or theirs.schema.names != ours.schema.names:
        return f"{query}: {theirs.schema.names} {types[0]} became {ours.schema.names} {types[1]}"
    values = [[_values(column) for column in table.columns] for table in (theirs, ours)]
    return "" if values[0] == values[1] else f"{query}: {values[0]} became {values[1]}"


@pytest.mark.spark
@pytest.mark.parametrize("group", TRANSLATED)
def test_expressions_are_the_same(
    group: str, translate: Callable[[str], str], on_datafusion: Callable[[str], Any], on_spark: Callable[[str], Any]
) -> None:
    queries = [f"select {e} as z from input" for e in _expressions(TRANSLATED[group])]
    differences = [_difference(q, on_datafusion(q), on_spark(translate(q))) for q in queries]
    assert [d for d in differences if d] == []


@pytest.fixture(scope="module")
def decimals() -> pa.Table:
    columns = {n: [None if v is None else Decimal(v) for v in values] for n, (_, values) in DECIMALS.items()}
    return pa.table({name: pa.array(values, DECIMALS[name][0]) for name, values in columns.items()})


@pytest.fixture
def of_decimals(translate: Callable[..., str]) -> Callable[[str], str]:
    columns = tuple(Column(name, str(type_).replace("decimal128", "decimal")) for name, (type_, _) in DECIMALS.items())
    return lambda expression: translate(f"select {expression} as z from input", columns=columns)


@pytest.mark.spark
def test_long_decimals_are_the_same(spark: SparkSession, decimals: pa.Table, of_decimals: Callable[[str], str]) -> None:
    import datafusion

    context = datafusion.SessionContext()
    context.register_record_batches("input", [decimals.to_batches()])
    frame = spark.createDataFrame(decimals).coalesce(1)
    differences = []
    for expression in LONG_DECIMALS:
        theirs = context.sql(f"select {expression} as z from input").to_arrow_table()
        ours = spark.sql(of_decimals(expression).replace("`input`", "{input}"), input=frame).toArrow()
        differences.append(_difference(expression, theirs, ours))
    assert [d for d in differences if d] == []


@pytest.mark.parametrize(("text", "reason"), LONG_REFUSED.items())
def test_long_decimals_are_refused(text: str, reason: str, of_decimals: Callable[[str], str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        of_decimals(text)
    assert reason in str(refused.value)


@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_the_same(
    query: str, translate: Callable[[str], str], on_datafusion: Callable[[str], Any], on_spark: Callable[[str], Any]
) -> None:
    assert _difference(query, on_datafusion(query), on_spark(translate(query))) == ""


@pytest.mark.spark
def test_what_stops_datafusion_stops_spark(
    translate: Callable[[str], str], on_datafusion: Callable[[str], Any], on_spark: Callable[[str], Any]
) -> None:
    from pyspark.errors import PySparkException

    for expression in BOTH_FAIL:
        query = f"select {expression} as z from input"
        with pytest.raises(Exception, match="error"):
            on_datafusion(query)
        with pytest.raises(PySparkException):
            on_spark(translate(query))


@pytest.mark.parametrize("text", REFUSED)
def test_differences_are_refused(text: str, expression: Callable[[str], str]) -> None:
    with pytest.raises(InvalidInput, match=r"^preprocess query 1, 1:\d+: "):
        expression(text)


def test_every_translated_function_is_compared() -> None:
    everything = " ".join([*TRANSLATED.values(), *QUERIES])
    names = {*ENGINE.scalars, *ENGINE.aggregates, *ENGINE.windows}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\(", everything)] == []


def test_every_function_of_datafusion_is_translated_or_refused(expression: Callable[[str], str]) -> None:
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_information_schema(True))
    found = context.sql("select distinct routine_name as name from information_schema.routines").to_pydict()["name"]
    translated = {*ENGINE.scalars, *ENGINE.aggregates, *ENGINE.windows}
    # The catalogue leaves out what the parser turns into something else.
    assert translated - set(found) <= {"row", "current_timestamp"}
    assert len(found) > 300
    unknown = set(found) - translated
    for name in sorted(unknown):
        with pytest.raises(InvalidInput):
            expression(f"{name}(i)")
