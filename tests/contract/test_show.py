from __future__ import annotations

from textwrap import dedent

from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.show import document, lines

TEXT = dedent("""\
    dataContractSpecification: 1.1.0
    id: urn:orders
    info: {title: Orders, version: 1.0.0, status: active}
    models:
      orders:
        fields:
          id: {$ref: '#/definitions/id', required: true}
          total:
            type: long
            minLength: 3
            quality:
            - {type: text, description: plausible}
    definitions:
      id: {type: text, format: uuid}
    servicelevels:
      support: {time: 9am to 5pm}
    custom: {team: [a, b]}
    """)


def test_every_section_with_what_is_not_enforced():
    assert list(lines(parse(TEXT, "c.yaml"))) == [
        "Orders 1.0.0, active",
        "urn:orders, Data Contract Specification 1.1.0",
        "11 clauses, of which 4 are not enforced",
        "",
        "dataContractSpecification: 1.1.0",
        "id: urn:orders",
        "info:",
        "  title: Orders",
        "  version: 1.0.0",
        "  status: active",
        "models:",
        "  orders:",
        "    fields:",
        "      id:",
        "        $ref: '#/definitions/id'",
        "        required: true",
        "        type: text",
        "        format: uuid",
        "      total:",
        "        type: long",
        "        minLength: 3  # not enforced: minLength does not apply to the type long",
        "        quality:",
        "          -  # not enforced: a text rule is documentation and cannot be tested",
        "            type: text",
        "            description: plausible",
        "definitions:",
        "  id:",
        "    type: text",
        "    format: uuid",
        "servicelevels:",
        "  support:  # not enforced: it is a promise about the service, which cannot be tested on data",
        "    time: 9am to 5pm",
        "custom:  # not enforced: custom is not part of the specification",
        "  team:",
        "    - a",
        "    - b",
    ]


def test_as_json():
    shown = document(parse(TEXT, "c.yaml"))
    assert {key: shown[key] for key in ("contract", "title", "version", "status", "specification")} == {
        "contract": "urn:orders",
        "title": "Orders",
        "version": "1.0.0",
        "status": "active",
        "specification": "Data Contract Specification 1.1.0",
    }
    assert shown["document"]["models"]["orders"]["fields"]["id"] == {
        "$ref": "#/definitions/id",
        "required": True,
        "type": "text",
        "format": "uuid",
    }
    assert shown["document"]["custom"] == {"team": ["a", "b"]}
    assert [(c["path"], c["line"], c["enforced"]) for c in shown["clauses"]][-5:] == [
        ("/models/orders/fields/total/type", 9, True),
        ("/models/orders/fields/total/minLength", 10, False),
        ("/models/orders/fields/total/quality/0", 12, False),
        ("/custom", 17, False),
        ("/servicelevels/support", 16, False),
    ]
