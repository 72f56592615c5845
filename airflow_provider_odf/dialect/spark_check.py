"""Check a query of ``engine: spark`` without Spark: whether it is one SELECT, its brackets, functions and columns.

A refusal here is certain: Spark refuses the query too. Spark has syntax that the parser does not know, so a query that
cannot be parsed is left to Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf.dialect import parsing
from airflow_provider_odf.dialect.parsing import Refusal, at
from airflow_provider_odf.wording import nearest, suggestion

_BUILTIN = """
abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value approx_count_distinct approx_percentile
approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate array array_agg array_append
array_compact array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii
asin asinh assert_true atan atan2 atanh avg base64 between bigint bin binary bit_and bit_count bit_get bit_length bit_or
bit_xor bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bool_and
bool_or boolean bround btrim cardinality cast cbrt ceil ceiling char char_length character_length chr coalesce collate
collation collations collect_list collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count
count_if count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate current_catalog current_database current_date
current_path current_schema current_time current_timestamp current_timezone current_user date date_add date_diff
date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek
dayofyear decimal decode degrees dense_rank div double e element_at elt encode endswith equal_null every exists exp
explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten float floor forall
format_number format_string from_avro from_csv from_json from_protobuf from_unixtime from_utc_timestamp from_xml get
get_json_object getbit greatest grouping grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate
hll_union hll_union_agg hour hypot if ifnull ilike in initcap inline inline_outer input_file_block_length
input_file_block_start input_file_name instr int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull
java_method json_array_length json_object_keys json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double
kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
kll_sketch_to_string_float kurtosis lag last last_day last_value lcase lead least left len length levenshtein like
listagg ln localtimestamp locate log log10 log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval
make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map
map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with
mask max max_by md5 mean measure median min min_by minute mod mode monotonically_increasing_id month monthname
months_between named_struct nanvl negative next_day not now nth_value ntile nullif nullifzero nvl nvl2 octet_length or
overlay parse_json parse_url percent_rank percentile percentile_approx percentile_cont percentile_disc pi pmod
posexplode posexplode_outer position positive pow power printf python_worker_logs quarter quote radians raise_error rand
randn random randstr range rank reduce reflect regexp regexp_count regexp_extract regexp_extract_all regexp_instr
regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad rtrim schema_of_avro schema_of_csv
schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml sec second sentences sequence session_user
session_window sha sha1 sha2 shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice
smallint some sort_array soundex space spark_partition_id split split_part sql_keywords sqrt st_asbinary st_geogfromwkb
st_geomfromwkb st_setsrid st_srid stack startswith std stddev stddev_pop stddev_samp str_to_map string string_agg struct
substr substring substring_index sum tan tanh theta_difference theta_intersection theta_intersection_agg
theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg time time_bucket time_diff time_from_micros
time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp timestamp_micros
timestamp_millis timestamp_seconds tinyint to_avro to_binary to_char to_csv to_date to_json to_number to_protobuf
to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar to_variant_object
to_xml transform transform_keys transform_values translate trim trunc try_add try_aes_decrypt try_avg try_divide
try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
try_parse_json try_parse_url try_reflect try_subtract try_sum try_to_binary try_to_date try_to_number try_to_time
try_to_timestamp try_url_decode try_validate_utf8 try_variant_get tuple_difference_double tuple_difference_integer
tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_agg_double
tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_sketch_estimate_double
tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double tuple_union_integer
tuple_union_theta_double tuple_union_theta_integer typeof ucase unbase64 unhex uniform unix_date unix_micros unix_millis
unix_seconds unix_timestamp upper url_decode url_encode user uuid validate_utf8 var_pop var_samp variance
variant_explode variant_explode_outer variant_get vector_avg vector_cosine_similarity vector_inner_product
vector_l2_distance vector_norm vector_normalize vector_sum version weekday weekofyear when width_bucket window
window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
xxhash64 year zeroifnull zip_with
"""
BUILTIN = frozenset(_BUILTIN.split())
"""Names of the built-in functions of Spark 4.2, for checks without Spark. A test compares them with Spark's."""

OF_THE_GRAMMAR = frozenset(("date_diff", "identifier", "timediff", "timestampadd", "timestampdiff", "try_cast"))
"""Functions of Spark's grammar that its registries do not have."""


_DIALECT = Dialect.get_or_raise("spark")
_STATEMENTS = (
    "alter", "analyze", "call", "create", "delete", "describe", "drop", "execute", "explain", "grant", "insert", "load",
    "merge", "refresh", "reset", "revoke", "set", "show", "truncate", "update", "use",
)  # fmt: skip
"""First words of statements that are not queries."""
_OPENING = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}
_NAMES_COLUMNS = (
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "range",
    "session_window", "stack", "table", "values", "variant_explode", "variant_explode_outer", "window",
)  # fmt: skip
"""Words whose columns have names that no query writes."""
_UNITS = (
    "century", "day", "dayofweek", "dayofyear", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear",
    "microsecond", "millennium", "millisecond", "minute", "month", "quarter", "second", "week", "year",
)  # fmt: skip
"""Words of functions that the parser may take for columns."""
_NEW_SCOPES = (exp.Pivot, exp.Lateral, exp.Unnest, exp.Values, exp.Tuple, exp.TableFromRows, exp.Explode, exp.Inline)


def tokens(query: str) -> list[Token] | None:
    """Return the tokens of a query, or None if only Spark can read it."""
    try:
        return _DIALECT.tokenize(query)
    except SqlglotError:
        return None


def parsed(query: str) -> exp.Expr | None:
    """Return the statement of a query, or None if only Spark can read it."""
    try:
        with parsing.room():
            return parsing.parse(query, _DIALECT)
    except (SqlglotError, Refusal, RecursionError):
        return None


def check(query: str) -> None:
    """Check what needs no columns.

    :raises Refusal: Spark refuses the query.
    """
    words = tokens(query)
    if words is None:
        return
    _check_statement(words)
    _check_brackets(words)
    tree = parsed(query)
    if tree is not None:
        _check_functions(words, tree)


def check_columns(query: str, tables: Mapping[str, Collection[str]], columns: Collection[str]) -> None:
    """Check that each column is one of the inputs, or has a name in the query.

    :param tables: columns of inputs and earlier queries by name, all in lower case.
    :param columns: names of all columns, in lower case.
    :raises Refusal: a column has neither.
    """
    tree = parsed(query)
    if tree is None or not has_names(query, tables):
        return
    known = {*map(str.lower, columns), *_names_in(tree)}
    aliases = _aliases_in(tree, tables, columns)
    for column in tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts if isinstance(part, exp.Identifier)]
        own = aliases.get(parts[0]) if len(parts) > 1 else None
        if own is not None and parts[1] not in own and parts[1].isidentifier():
            raise Refusal(column, f"column {column.sql(_DIALECT)} does not exist", suggestion(parts[1], sorted(own)))
        # What follows a column is a field of it.
        if parts and parts[0] in tables and parts[0] not in known and len(parts) > 1:
            parts = parts[1:]
        is_known = not parts or parts[0] in known | BUILTIN or parts[0] in tables
        if not is_known and parts[0].isidentifier() and parts[0] not in _UNITS:
            raise Refusal(
                column, f"column {column.sql(_DIALECT)} does not exist", suggestion(parts[0], sorted(columns))
            )


def _aliases_in(tree: exp.Expr, tables: Mapping[str, Collection[str]], columns: Collection[str]) -> dict[str, set[str]]:
    """Return the columns of each name that stands only for inputs and earlier queries, wherever the query gives it: not
    for a column, a subquery or a common table expression, too."""
    others = {name.lower() for name in columns} | {*_names_in(tree, of_tables=False)}
    columns_of = dict[str, set[str]]()
    for table in tree.find_all(exp.Table):
        name, source = table.alias_or_name.lower(), table.name.lower()
        is_plain = isinstance(table.this, exp.Identifier) and not table.db and not table.alias_column_names
        if is_plain and source in tables and source not in others:
            columns_of.setdefault(name, set()).update(tables[source])
        else:
            others.add(name)
    return {name: own for name, own in columns_of.items() if name not in others}


def has_names(query: str, tables: Collection[str]) -> bool:
    """Whether a query writes the names of all columns that it makes: not those of functions and fields."""
    words, tree = tokens(query), parsed(query)
    if words is None or tree is None or any(tree.find(kind) for kind in _NEW_SCOPES):
        return False
    if not {word.text.lower() for word in words}.isdisjoint(_NAMES_COLUMNS):
        return False
    named = {*tables, *(table.name.lower() for table in tree.find_all(exp.Table, exp.TableAlias))}
    stars = [column for column in tree.find_all(exp.Column) if isinstance(column.this, exp.Star)]
    return all(star.table.lower() in named for star in stars)


def given_names(query: str) -> set[str]:
    """Return the names that a query gives to columns, in lower case, and others."""
    tree = parsed(query)
    return set(_names_in(tree)) if tree is not None else set()


def _names_in(tree: exp.Expr, of_tables: bool = True) -> Iterator[str]:
    """Yield the names that a query gives to columns, tables, windows and parameters, in lower case. Without
    ``of_tables``, the aliases of tables that exist without the query are absent."""
    for node in tree.walk():
        if not of_tables and isinstance(node, exp.TableAlias) and isinstance(node.parent, exp.Table):
            continue
        if isinstance(node, exp.Alias | exp.CTE | exp.TableAlias | exp.Window | exp.PropertyEQ | exp.Kwarg):
            yield node.alias.lower() if not isinstance(node, exp.TableAlias) else node.name.lower()
        if isinstance(node, exp.TableAlias):
            yield from (column.name.lower() for column in node.columns)
        if isinstance(node, exp.Lambda | exp.Aliases):
            yield from (name.name.lower() for name in node.expressions)


def _check_statement(words: Sequence[Token]) -> None:
    first = next((word for word in words if word.token_type != TokenType.L_PAREN), None)
    if first is not None and first.text.lower() in _STATEMENTS:
        raise Refusal(
            at(first), f"a query must be one SELECT, not {first.text.upper()}", "write a SELECT over the inputs"
        )
    for word, after in pairwise(words):
        if word.token_type == TokenType.SEMICOLON and after.token_type != TokenType.SEMICOLON:
            raise Refusal(at(after), "one query is expected, not several", "split it into several queries with aliases")


def _check_brackets(words: Sequence[Token]) -> None:
    opened: list[Token] = []
    for word in words:
        if word.token_type in _OPENING.values():
            opened.append(word)
            continue
        opening = _OPENING.get(word.token_type)
        if opening is not None and (not opened or opened.pop().token_type != opening):
            raise Refusal(at(word), f"'{word.text}' closes no bracket", "remove it, or open the bracket")
    if opened:
        raise Refusal(at(opened[-1]), f"'{opened[-1].text}' is not closed", "close the bracket")


def _check_functions(words: Sequence[Token], tree: exp.Expr) -> None:
    """Names that are followed by a parenthesis are functions, unless the query gives the name to something."""
    named = set(_names_in(tree))
    calls = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    before: Token | None = None
    for word, after in pairwise(words):
        name = word.text.lower()
        is_call = word.token_type == TokenType.VAR and after.token_type == TokenType.L_PAREN
        is_part = before is not None and before.token_type == TokenType.DOT
        if is_call and not is_part and name in calls and name not in BUILTIN | OF_THE_GRAMMAR | named:
            near = nearest(name, BUILTIN)
            advice = f"did you mean `{near}`?" if near else "use only built-in functions"
            raise Refusal(at(word), f"{word.text} is not a built-in function of Spark", advice)
        before = word
