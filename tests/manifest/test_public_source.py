from __future__ import annotations

from airflow_provider_odf.manifest import model, public_source

READ = model.ReadStepNdJson()
APPEND = model.MergeStrategyAppend()


def test_dump_masks_headers_variables_and_passwords():
    headers = (
        model.RequestHeader(name="Accept", value="text/csv"),
        model.RequestHeader(name="Authorization", value="Bearer ${{ env.TOKEN || 'f00' }}"),
        model.RequestHeader(name="X-Api-Key", value="f00"),
    )
    url = model.FetchStepUrl(url="https://me:pw@h/a", headers=headers)
    assert public_source.dump(model.SetPollingSource(fetch=url, read=READ, merge=APPEND)) == {
        "kind": "SetPollingSource",
        "fetch": {
            "kind": "Url",
            "url": "https://h/a",
            "headers": [
                {"name": "Accept", "value": "text/csv"},
                {"name": "Authorization", "value": "***${{ env.TOKEN || '***' }}"},
                {"name": "X-Api-Key", "value": "***"},
            ],
        },
        "read": {"kind": "NdJson"},
        "merge": {"kind": "Append"},
    }
    env = (model.EnvVar(name="API_KEY", value="f00"), model.EnvVar(name="BATCH", value="5"), model.EnvVar(name="OTHER"))
    assert public_source.dump(model.FetchStepContainer(image="a", env=env))["env"] == [
        {"name": "API_KEY", "value": "***"},
        {"name": "BATCH", "value": "5"},
        {"name": "OTHER"},
    ]
    topics = (model.MqttTopicSubscription(path="a/#"),)
    mqtt = model.FetchStepMqtt(host="h", port=1883, username="me", password="f00", topics=topics)
    assert public_source.dump(mqtt)["password"] == "***"
    assert public_source.fetch(mqtt) == "mqtt://h:1883 a/#"


def test_dump_masks_the_address_of_a_licence():
    event = model.SetLicense(short_name="x", name="X", website_url="https://me:pw@h/x?token=f00&v=1")
    assert public_source.dump(event)["websiteUrl"] == "https://h/x?token=***&v=1"


def test_steps():
    source = model.SetPollingSource(
        fetch=model.FetchStepFilesGlob(path="data/*.zip"),
        prepare=(
            model.PrepStepDecompress(format="Zip", sub_path="*.csv"),
            model.PrepStepDecompress(format="Gzip"),
            model.PrepStepPipe(command=("sed", "-e", "1d")),
        ),
        read=READ,
        preprocess=model.TransformSql(engine="datafusion", query="select 1"),
        merge=model.MergeStrategyLedger(primary_key=("a", "b")),
    )
    assert public_source.fetch(source.fetch) == "data/*.zip"
    assert public_source.steps(source) == ["Zip *.csv", "Gzip", "pipe sed", "NdJson", "SQL (datafusion)"]
    assert public_source.merge(source.merge) == "Ledger by a, b"
    assert public_source.merge(APPEND) == "Append"


def test_size():
    counts = (0, 999, 1000, 99_940, 99_960, 999_999, 5 * 10**15)
    assert [public_source.size(n) for n in counts] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "99.9 kB",
        "100 kB",
        "1,000 kB",
        "5,000 TB",
    ]
