"""What each property of a manifest means. The models know names and types; this is the prose beside them."""

from __future__ import annotations

PROPERTIES: dict[str, dict[str, str]] = {
    "DatasetSnapshot": {
        "name": "Alias of the dataset: `name` or `account/name`. Names are unique whatever their letter case.",
        "kind": "`Root`: data come from outside. `Derivative`: data come from other datasets.",
        "metadata": "The events that make the dataset's chain after its Seed.",
    },
    "SetPollingSource": {
        "fetch": "Where the data comes from.",
        "prepare": "What is done to the raw files, in order, before they are read.",
        "read": "How files become rows.",
        "preprocess": "SQL over the rows read; the table is called `input`.",
        "merge": "How rows become history.",
    },
    "AddPushSource": {
        "sourceName": "Name of the source, for `MergeOperator(source_name=...)`.",
        "read": "How files become rows.",
        "preprocess": "SQL over the rows read; the table is called `input`.",
        "merge": "How rows become history.",
    },
    "SetTransform": {
        "inputs": "The datasets that the queries read.",
        "transform": "The queries.",
    },
    "SetVocab": {
        "offsetColumn": "Name of the offset column; default `offset`.",
        "operationTypeColumn": "Name of the operation column; default `op`.",
        "systemTimeColumn": "Name of the system time column; default `system_time`.",
        "eventTimeColumn": "Name of the event time column; default `event_time`.",
    },
    "SetInfo": {
        "description": "What the dataset is; Markdown. Its first line is the DAG's description.",
        "keywords": "Words to find it by; they are tags of the DAG.",
    },
    "SetLicense": {
        "shortName": "Such as `CC0`.",
        "name": "The licence's full name.",
        "spdxId": "Its identifier in the SPDX list.",
        "websiteUrl": "Where its text is.",
    },
    "SetAttachments": {"attachments": "Files that go with the dataset."},
    "SetDataSchema": {
        "rawArrowSchema": "An Arrow schema as base64; written by the engine, not by hand.",
        "schema": "An ODF schema. Normally left out: the engine records it with the first data.",
    },
    "FetchStepUrl": {
        "url": "`https`, `http`, `ftp`, `ftps`, `s3`, `gs`, `az`, `abfss` or `file`; may have templates.",
        "eventTime": "Event time of rows that have no event time column; default `FromMetadata`.",
        "cache": "`Forever`: what was taken once is never asked for again.",
        "headers": "Request headers; their values may have templates.",
    },
    "FetchStepFilesGlob": {
        "path": "A glob, relative to the manifest's folder, or of objects: `s3://bucket/in/*.csv`, `gs://`, `az://`, `abfss://`.",
        "eventTime": "Event time of rows that have no event time column; default `FromSystemTime`.",
        "cache": "`Forever`: what was taken once is never asked for again.",
        "order": "`ByName` (default): by base name, byte by byte. `ByEventTime`: by the time that `eventTime` gives.",
    },
    "FetchStepContainer": {
        "image": "Image that writes the data to its standard output.",
        "command": "Replaces the image's entry point; an argument list, no shell.",
        "args": "Replaces the image's arguments.",
        "env": "Environment of the container.",
    },
    "FetchStepMqtt": {
        "host": "Host of the broker; may have templates.",
        "port": "Its port; 8883 uses TLS.",
        "username": "User name; may have templates.",
        "password": "Password; may have templates.",
        "topics": "Topics to read.",
    },
    "FetchStepEthereumLogs": {
        "chainId": "Id of the chain, which the node must have. This or `nodeUrl` is required.",
        "nodeUrl": "URL of a node, http or https; may have templates. Default: the one in `[odf] ethereum_nodes`.",
        "filter": "Condition in SQL over `address`, `topic0` to `topic3` and `block_number`.",
        "signature": "Signature of the event of which logs are read, and decoded into the column `event`.",
    },
    "RequestHeader": {"name": "Name of the header.", "value": "Its value; may have templates."},
    "EnvVar": {"name": "Name of the variable.", "value": "Its value; without one it is taken from the environment."},
    "MqttTopicSubscription": {
        "path": "Topic filter; may have templates.",
        "qos": "Quality of service; default `AtMostOnce`.",
    },
    "EventTimeSourceFromPath": {
        "pattern": "Regular expression over the path; its first group is the time.",
        "timestampFormat": "A Java pattern, or strftime where it has a `%`; default `yyyy-MM-dd`.",
    },
    "PrepStepDecompress": {
        "format": "`Gzip` or `Zip`.",
        "subPath": "Glob over names in the zip; what it matches is read as one input. Without it the archive must hold "
        "one file.",
    },
    "PrepStepPipe": {
        "command": "A program and its arguments, run without a shell in the manifest's folder: raw data on standard "
        "input, prepared data on standard output.",
    },
    "ReadStep": {
        "ddlSchema": "Columns as SQL DDL, each a list item: `price DECIMAL(8,2)`.",
        "schema": "Columns as an ODF schema (`fields`), or as a DDL list, as specifications before 0.37 have it.",
        "separator": "Single character between values; default `,`.",
        "encoding": "Encoding of the text; default `utf-8`.",
        "quote": 'Character around values that hold separators; default `"`. An empty text switches quoting off.',
        "escape": "Character before a quote within quotes; default `\\`. A doubled quote is read too.",
        "header": "Whether the first line has names; default `false`.",
        "inferSchema": "Find types from all values, where no schema is declared; default `false`: text.",
        "nullValue": "Text that means null; default the empty text.",
        "dateFormat": "`rfc3339` (default), a Java pattern, or strftime where it has a `%`.",
        "timestampFormat": "`rfc3339` (default), a Java pattern, or strftime where it has a `%`.",
        "subPath": "Json: path of the array, such as `data.rows`. "
        "EsriShapefile: name or pattern of the `.shp` in the zip.",
    },
    "TransformSql": {
        "engine": "Dialect of the SQL: `spark`, `datafusion`, `flink` or `risingwave`. DataFusion runs its own "
        "queries; those of Flink and RisingWave are translated to Spark SQL, or refused with the place.",
        "version": "Version of the engine that the SQL was written for.",
        "query": "One query.",
        "queries": "Several; the last has no alias and is the output. Either this or `query`.",
        "temporalTables": "Histories that queries look up as of a time; refused in `preprocess`.",
    },
    "SqlQueryStep": {"alias": "Name under which later queries read this one's result.", "query": "The query."},
    "TemporalTable": {"name": "Name of the input.", "primaryKey": "Key of its rows."},
    "TransformInput": {
        "datasetRef": "Alias or id of a dataset, or the location of its folder (`file:///…`).",
        "alias": "Its name in the queries.",
    },
    "MergeStrategy": {
        "primaryKey": "Columns whose values identify a row; never null.",
        "compareColumns": "Columns whose change is a change of the row; default all but the key.",
    },
    "AttachmentsEmbedded": {"items": "The files."},
    "AttachmentEmbedded": {"path": "Name of the file.", "content": "Its text."},
    "DataSchema": {"fields": "Columns, in order.", "extra": "Attributes of the schema."},
    "DataField": {"name": "Name of the column.", "type": "Its type.", "extra": "Attributes of the column."},
    "DataTypeBinary": {"fixedLength": "Length in bytes, where all values have one."},
    "DataTypeDecimal": {"precision": "Digits in all, up to 38.", "scale": "Digits after the point."},
    "DataTypeDuration": {"unit": "Unit; default milliseconds."},
    "DataTypeList": {"itemType": "Type of the items.", "fixedLength": "Number of items, where all values have one."},
    "DataTypeMap": {
        "keyType": "Type of the keys.",
        "valueType": "Type of the values.",
        "keysSorted": "Whether the keys are in order.",
    },
    "DataTypeOption": {"inner": "Type of the value where there is one."},
    "DataTypeStruct": {"fields": "The members."},
    "DataTypeTime": {"unit": "Unit; default milliseconds."},
    "DataTypeTimestamp": {"unit": "Unit; default milliseconds.", "timezone": "Time zone; default UTC."},
}
"""Name of a definition -> property -> meaning. A name that others begin with serves them all."""


def meaning(definition: str, name: str) -> str:
    """What a property of a definition means.

    :raises KeyError: it is not described.
    """
    for key in sorted((k for k in PROPERTIES if definition.startswith(k)), key=len, reverse=True):
        if name in PROPERTIES[key]:
            return PROPERTIES[key][name]
    raise KeyError(f"{definition}.{name} has no description in docs/generate/properties.py")
