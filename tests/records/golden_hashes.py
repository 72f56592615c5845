"""Tables and the logical hashes that the reference implementation's own digest has for them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

PAIR = pa.struct([("a", pa.int64()), ("b", pa.string())])


def listed(items: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", items))


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


# fmt: off
COLUMNS: dict[str, tuple[pa.DataType, list, str]] = {
    "binary": (
        pa.binary(),
        [b"\xec\xf8", b"", b"G\x9f1\xa5", b"\x82", b"O", b"W\xd9", b"\xb3", b"@6\x98", None, None, b"]N<\x92", b"@"],
        "f9680c001208b6394662c4a09b1dda7836b1e179edad793ced559b4b831089bf6f376d38921",
    ),
    "bool": (
        pa.bool_(),
        [False, False, None, True, None, None, False, True, False],
        "f9680c0012095dda0ab6bbddc270b86a2a331720d21ec3b456442c254b16a9cc50024aec9d3",
    ),
    "bool_long": (
        pa.bool_(),
        [{"t": True, "f": False, "-": None}[c] for c in "f--fftf-t-t-t---ttfttt-tttft-fftt--ffftt"],
        "f9680c00120777b24260829877b8f91cf99ccbef1a7faa1962cda1442d1916fbf827f782fb6",
    ),
    "date32": (
        pa.date32(),
        [17758, 10967, 20408, 25753, None, 16461, 17515, 29258, -4604],
        "f9680c001204c317d8f557ad563a632c5a6293b63a834a2c5d3e39a4e0203ed1bea2c7e1248",
    ),
    "decimal_10_0": (
        pa.decimal128(10, 0),
        decimals("390856947", "-178833069", None, None, "284547828", "586056038", "97278703", None, "290277715"),
        "f9680c001200573bed667f154017bff082e9f95fc8a0abd666556b6dc917041919871b641e6",
    ),
    "decimal_18_6": (
        pa.decimal128(18, 6),
        decimals(
            None, None, "-91120086305.700024", "-30179308228.024297", "-50178730666.353035", "-42225012432.911932",
            "28665038301.668014", "-51583185972.828212", "21047114110.578002",
        ),
        "f9680c001208a32785d4875eb5aa5d94d521f8de80127809a4126d2548e54e3cdc07f692968",
    ),
    "decimal_38_10": (
        pa.decimal128(38, 10),
        decimals(
            "869277167630422217180752743.4", "922633227401407849926056430.2", "-971892686310528120105684336.2",
            "540449324416961559065764254.4", "-205170004968550332990407758.5", "440378924058370361384145447.8",
            "-736492186227632660871222454.6", "146954356486337071294987392.6", "215265396188878875550475031.7",
        ),
        "f9680c0012010f2c05be4cc09077103ef68df9d08bb585137641a937614d2ab01bde0966b1c",
    ),
    "decimal_9_2": (
        pa.decimal128(9, 2),
        decimals(
            "162115.04", "-126330.44", "670749.11", "-430876.22", None, "95818.21", "773042.24", "-333699.26",
            "501558.48",
        ),
        "f9680c001208b8a39edb613a3857e6229e8ed6fe788dcd0482ae5821cb1c7a055addf57c7c0",
    ),
    "fixed_binary": (
        pa.binary(4),
        [
            b"\xed-\xde\x19", b"\xf4a\xb1\xe9", None, b"\x80\\\x1f\xf8", b"\xcc\xc7\x88\xd7", b"o\xee\xc6\xaf",
            b"z^\xefq", b"(\x8a\xb1=", b"\r\xe8\xe1a",
        ],
        "f9680c00120b9b94f429e956458a0dabeaa953dfa83dda162095a65f6122d2de2d1aa79125f",
    ),
    "float32": (
        pa.float32(),
        [-math.inf, 0.0, 1.5, None, None, 0.9870496988296509, None, 0.0, 1.5],
        "f9680c001200b9d4729d362589ec91b7da20b10f3c0d6a054373f365183497caa2f8622af37",
    ),
    "float64": (
        pa.float64(),
        [math.inf, -0.0, None, None, None, None, 1e+300, 1e+300, -0.0],
        "f9680c00120c96aa005da9f58477bc792b3e7aec7d86a80360623401d4c4c535ba2b7da97af",
    ),
    "int16": (
        pa.int16(),
        [32219, 12543, None, None, 5214, 21781, -19661, None, 6080],
        "f9680c00120250d67b91d979b1e96e1fafe98fa6f738ceca9fd132b9338f6a684b93a21668b",
    ),
    "int32": (
        pa.int32(),
        [
            None, 1_460_080_766, 999_721_539, 335_762_957, 207_612_152, -630_182_662, 985_266_303, -1_264_931_184,
            233_651_350,
        ],
        "f9680c00120363964d53aef945ff3514d33b2c8fe44dfac9b8e61ced023e841ac4c91566863",
    ),
    "int32_all_null": (
        pa.int32(),
        [None, None, None, None],
        "f9680c001205914e60e50c472c87ed1b3873628655ff62a46424fe5a6c402f8781e9e14e028",
    ),
    "int64": (
        pa.int64(),
        [
            -4_619_816_892_822_158_998, None, -3_868_571_342_329_866_039, None, -64_680_565_417_265_885, None,
            -4_456_349_072_136_906_740, -5_065_955_204_473_268_760, 3_286_763_367_986_724_007,
        ],
        "f9680c001200c28d1780e60282430eb243c376ee2d1020040ed5962656850cc442ff7058891",
    ),
    "int64_no_nulls": (
        pa.int64(),
        [387, 205, 355, 101, 210, 587, 690, 918, 443],
        "f9680c001202505f97a89885a1c41b961d67fac68ef491d48ee3ac2e21dcd083d41a59db8b5",
    ),
    "int8": (
        pa.int8(),
        [None, -96, 125, 113, -21, None, None, 93, -127],
        "f9680c001206e7e9276d796c3511131606c0141d092197d1350e2f987bd6cb19a009319252f",
    ),
    "large_binary": (
        pa.large_binary(),
        [
            b"\xcf\x12\xf1", b"\xe9\xfb\xc1", b"\x03\xba~", b"[\x97\xb7", b"KLb", b"60*", b"+\x8b\xfe", None,
            b"f\xd5\xce",
        ],
        "f9680c0012016e049e0ee6a72116450963d3b823c4d2ccc9f4a131612a1b3d96add2936bae1",
    ),
    "large_utf8": (
        pa.large_string(),
        [
            "漢漢XcY 9c", None, "Y😀b", "😀 9Y909", "ZcY0a😀", "éaa漢Zé", None, None, " é c", "0ac", "ü0üü漢XXZ",
            "X漢 Z9é漢",
        ],
        "f9680c001203ea09d14c3aa6f8ff6f58b8caa8a9524a7378d6b5a38a1d4141e7d88a15aaae9",
    ),
    "list_int32": (
        listed(pa.int32()),
        [[], [], None, [6, 65, 47], None, [56], [57, None, 11], [None, None], [16, 48], [None, 64]],
        "f9680c00120864b55c63ab87d9209a82010e239eac470b250f4552d6a2d3040bc73a339a3d7",
    ),
    "list_list_int64": (
        listed(listed(pa.int64())),
        [[], [], [[]], [[3, 7]], [], [[3], [4]], [], [[1, 8]]],
        "f9680c00120c6ea193bfce8bd19ba8ac6a28b6fd444b054223e40d50622486662959cebbe56",
    ),
    "list_utf8": (
        listed(pa.string()),
        [
            ["😀 é0bcü0", "漢é漢99aY漢"], None, [None, "a"], ["ZYZ漢漢", ""], ["😀Zéb0"], ["漢 bé😀", None, None],
            ["Z😀üZ ", "99cac"], ["c"], [], ["Ybü", "b"],
        ],
        "f9680c00120820880931a6131190e793eb00028652784e4f5ad02e28cc30a82931951975675",
    ),
    "struct": (
        PAIR,
        [
            {"a": 6, "b": ""}, {"a": 7, "b": ""}, None, {"a": 0, "b": "bY9漢Z😀9ü"}, {"a": 8, "b": "9 99"},
            {"a": 4, "b": "Yc90éc9"},
        ],
        "f9680c00120966e7005f28fbc2c88796f0ff10a7653ad4a2759d4b5128184038257af06a67e",
    ),
    "struct_nested": (
        pa.struct([("s", PAIR), ("f", pa.float64())]),
        [
            {"s": {"a": 1, "b": "Yü"}, "f": 1.5}, None, {"s": {"a": 1, "b": ""}, "f": 1.5},
            {"s": {"a": 1, "b": "Yü😀üab"}, "f": 1.5}, {"s": {"a": 1, "b": ""}, "f": 1.5},
        ],
        "f9680c00120950f4930f455f1db6c51bc080fb4e7448687b55ee084fc84c2387a2afe91ff2d",
    ),
    "struct_no_nulls": (
        PAIR,
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
        "f9680c0012000219e52b5c5e4a0351372fabb22aba31a7826c30617fba27cba2d60830ae389",
    ),
    "struct_null_fields": (
        PAIR,
        [{"a": None, "b": "x"}, {"a": 2, "b": None}],
        "f9680c00120e0d5c0fef42e1559054066da5cd00648edafcb1ca3813d7d5538f8a57cf6f343",
    ),
    "time32_ms": (
        pa.time32("ms"),
        [40_721_867, 4_760_654, 70_451_402, 5_746_502, 15_762_089, 25_516_257, None, 37_483_092, 25_759_942],
        "f9680c0012014c018c7b7bb1ce2cf9db1828c0b51395a7aad62c521c877711e2f26a0bf7b85",
    ),
    "time64_us": (
        pa.time64("us"),
        [
            44_623_430_012, 38_524_116_371, 31_108_842_128, None, 24_010_995_339, 74_531_544_828, 76_794_467_226,
            11_434_859_368, 84_796_755_066,
        ],
        "f9680c0012088ce8d71c14e781db210e02d6108f48b765c1aa5d18e7073caa9a3799e987a11",
    ),
    "timestamp_ms": (
        pa.timestamp("ms"),
        [
            273_785_990_295, 320_613_920_347, 792_022_029_736, 857_420_352_295, 299_713_442_314, 80_605_797_833,
            11_190_375_788, 877_309_704_806, 755_372_829_434,
        ],
        "f9680c001207b74bea0ec60dea81e9dddc7f5313d2a7f00c3bddb885aaa7a0013c3111aa0a7",
    ),
    "timestamp_ms_before_1970": (
        pa.timestamp("ms", "UTC"),
        [
            -527_669_321_761, -933_653_509_753, -218_694_753_542, -910_017_800_247, -872_532_368_982,
            -425_266_964_420, None, -618_720_617_807, -86_457_600_877,
        ],
        "f9680c001209dbfdaf9d95da21cce31462bce393f53cc62ad92d5d798da2c216030cacd7167",
    ),
    "timestamp_ms_offset": (
        pa.timestamp("ms", "+00:00"),
        [
            None, 240_927_181_983, 496_047_346_120, 258_693_256_053, 603_282_169_404, 494_831_372_738,
            546_878_689_439, 235_834_451_182, 13_083_406_481,
        ],
        "f9680c00120211686e1518c79c1b5fd01ff9e5e67f4ce0d1bfbf570b36ec1f5b7e4ceca34c9",
    ),
    "timestamp_ms_utc": (
        pa.timestamp("ms", "UTC"),
        [
            507_459_276_460, 186_764_690_414, 296_547_683_661, 651_738_728_569, 74_539_918_991, 180_473_415_052,
            180_157_244_087, 697_510_951_207, 333_310_910_905,
        ],
        "f9680c00120b8b781011a30498fad829291010f9cc807ebfc87c3c2c774f93f6c06d64e7d61",
    ),
    "timestamp_ns": (
        pa.timestamp("ns"),
        [
            954_194_113_113, 637_560_306_607, 162_041_590_636, 503_636_386_468, 855_293_859_136, None,
            340_853_285_126, 125_586_963_751, 750_410_144_410,
        ],
        "f9680c0012013f9b00f42281e62cc18f01b909027da8456ab85937d7ac9614855d7e5e1d6ba",
    ),
    "timestamp_ns_utc": (
        pa.timestamp("ns", "UTC"),
        [
            249_565_025_147, 48_046_773_782, None, 828_451_414_695, None, None, 798_068_963_948, 487_964_888_001,
            304_246_329_039,
        ],
        "f9680c0012061c8a4847127b16e68138df10d9e15c3cf3ae08041de2dadfee29f681acf86b1",
    ),
    "timestamp_us": (
        pa.timestamp("us"),
        [
            None, None, 74_170_087_510, None, 723_801_623_038, 612_082_313_072, 327_141_446_722, 613_385_769_178,
            814_367_315_875,
        ],
        "f9680c0012089094cf5500e98250791e3a2f702ccf9a4b4a932b51a4d32cc7a4d1ec14a2a82",
    ),
    "timestamp_us_utc": (
        pa.timestamp("us", "UTC"),
        [
            None, 529_021_270_732, 673_737_423_064, 284_422_692_481, 269_323_184_134, 936_434_015_083,
            445_055_042_726, 273_853_956_671, 78_125_029_357,
        ],
        "f9680c00120d3e2575fcff19102d1748fb7e1e58f8cf054d9a5107d9f650634aa1a70145f97",
    ),
    "uint16": (
        pa.uint16(),
        [None, 55326, 24883, 65452, 51557, 4525, 52990, 22676, 49113],
        "f9680c00120cf9fc66c38553cdb854c9f3ecaa8fb3475afeaea2c5951af902955b9b6a96793",
    ),
    "uint32": (
        pa.uint32(),
        [
            1_775_539_677, 1_779_939_759, None, 1_422_224_538, 3_455_599_620, 3_998_399_926, None, 302_595_366,
            1_945_614_990,
        ],
        "f9680c0012012ed2ee480ff85923a8e35739974beaef40329b54a606a12d17e7109f4271d49",
    ),
    "uint64": (
        pa.uint64(),
        [
            8_316_622_915_818_741_159, 14_819_846_930_052_064_268, 16_150_756_250_119_717_695,
            1_410_182_734_995_233_200, 13_721_465_212_488_505_792, 2_405_291_784_035_535_480,
            10_519_819_790_310_944_297, None, 9_387_063_791_620_619_695,
        ],
        "f9680c001206b40a4d73c30c545a3a39acb60576de22ddefa15d5735a4cf21752ac1136b3e4",
    ),
    "uint8": (
        pa.uint8(),
        [136, 117, 52, 15, None, 4, 195, 216, 113],
        "f9680c00120b85b794dbc8d8a15bf937f1cb8da787809567367010af6f2bea689e1cf407c8a",
    ),
    "utf8": (
        pa.string(),
        ["XZb9", "X", None, "bY9b漢b", None, None, "00cb9", "b9ücc", "ZY", None, "cXc9", ""],
        "f9680c0012027bba6dde3cefcc3c8e87d75613fd2547eb38d4462980e73883c9ad70d0185d7",
    ),
    "utf8_empty_vs_null": (
        pa.string(),
        ["", None, "a"],
        "f9680c001209723b423f96dd59a1803eaadc3bd56dc5b20a0aa9289d37503a25cd956f23b58",
    ),
}
# fmt: on

WITHOUT_HASH: dict[str, tuple[pa.DataType, list]] = {
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "a", None, "c"]),
    "list_struct": (
        listed(PAIR),
        [[{"a": 4, "b": "ü漢0😀Z"}], [], [], [], [{"a": 5, "b": "é😀"}], [{"a": 4, "b": "Y漢 漢Y Z😀"}]],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[], [("k0", 0)], [("k0", 0)], [], None]),
}


def rows(operations: list[int], first: int = 0, **columns: pa.Array) -> pa.Table:
    """Columns of a slice: offsets from ``first`` on, one system time, event times a day apart, then ``columns``."""
    days = [datetime(2000, 1, 1, 12, tzinfo=UTC) + timedelta(n) for n in range(len(operations))]
    stamp = pa.timestamp("ms", "UTC")
    system = {
        "offset": pa.array(range(first, first + len(operations)), pa.int64()),
        "op": pa.array(operations, pa.int32()),
        "system_time": pa.array([datetime(2010, 1, 1, 12, tzinfo=UTC)] * len(operations), stamp),
        "event_time": pa.array(days, stamp),
    }
    return pa.table(system | columns)


def table_of_spark() -> pa.Table:
    """12,000 rows with a column of each type that Spark has; a file of them that Spark wrote has the hash below."""
    numbers = range(12_000)
    columns = {
        "d9": pa.array([Decimal(5 * n) / 4 if n % 3 else None for n in numbers], pa.decimal128(9, 2)),
        "d18": pa.array([Decimal(10 * n) if n % 4 else None for n in numbers], pa.decimal128(18, 6)),
        "d38": pa.array([Decimal(n) for n in numbers], pa.decimal128(38, 10)),
        "s": pa.array([f"s{n}" if n % 2 else None for n in numbers]),
        "b": pa.array([b"b%d" % n for n in numbers]),
        "i8": pa.array([n % 100 for n in numbers], pa.int8()),
        "i16": pa.array(numbers, pa.int16()),
        "f": pa.array([round(n / 3, 6) for n in numbers], pa.float32()),
        "g": pa.array([round(n / 7, 6) for n in numbers], pa.float64()),
        "flag": pa.array([n % 2 == 0 for n in numbers]),
        "day": pa.array([date(2020, 2, 28) + timedelta(n) for n in numbers]),
        "arr": pa.array([[n, None, n + 1] for n in numbers], listed(pa.int64())),
        "sarr": pa.array([["a", str(n)] for n in numbers], listed(pa.string())),
        "st": pa.array([{"x": n, "y": str(n)} for n in numbers], pa.struct([("x", pa.int64()), ("y", pa.string())])),
        "ntz": pa.array([datetime(2020, 1, 1)] * len(numbers), pa.timestamp("us")),
    }
    return rows([n % 4 for n in numbers], **columns)


HASH_OF_SPARK = "f9680c0012016fb3e68cc8c93df68145d4e686bf1a896fe37f608a612ffd4041856e6fbd391"

TABLES: dict[str, tuple[pa.Table, str]] = {
    "not_nullable": (
        pa.table([[1, 2, 3]], pa.schema([pa.field("v", pa.int64(), nullable=False)])),
        "f9680c00120be2e310251b0e89028641674cbe33adedd874626f6ca78c86262d8d1a60d7fb0",
    ),
    "city_population": (
        rows([0, 0, 0], city=pa.array(["A", "B", None]), population=pa.array([100, None, 300])),
        "f9680c001203d513aa8a8d102397ea1325bd370d91a9a970f10c9e6e5b5b38c575fb6dbd6a9",
    ),
    "multi_system": (
        rows(
            [0, 0, 1, 2, 3],
            first=100,
            d=pa.array(decimals("1", "2", "3", "4", None), pa.decimal128(12, 3)),
            when=pa.array([date(2024, 2, 29)] * 5),
        ),
        "f9680c001208c3c477e0867207c220b945499cf9238b7653c736a8a7d34c674d388d810a0e6",
    ),
    "system_empty": (rows([]), "f9680c00120a32eee8230ca783726e2a37c98c49c0eeb8634c3328b39319edfdcf2fdbc6149"),
    "system_only": (rows([0, 0, 0]), "f9680c00120501b996c6c386803396f8baba84f82a2c557a6410b8f8a8cea3db06ed0fc29e9"),
    "system_ops": (rows([0, 2, 3, 1]), "f9680c001205d9c7f98a38f455cd188459acfc978a8a2ff8b071549d7d8b397d585ccc9bff7"),
}
