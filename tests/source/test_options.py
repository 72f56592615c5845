import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.source.options import OPTIONS, Options, from_environment, from_texts


def test_what_is_not_said_has_its_default():
    assert from_texts({}) == from_environment({}) == Options()


@pytest.mark.parametrize(
    "text", ["--creds me:pa55", "--creds=me:pa55", "--env API_TOKEN=pa55", "--env=API_TOKEN=pa55", "-eDB_PASSWORD=pa55"]
)
def test_credentials_on_the_command_line_of_containers_are_refused_and_not_repeated(text):
    with pytest.raises(InvalidInput, match="everyone on the machine can read command lines") as refused:
        from_texts({"container_arguments": text})
    assert "pa55" not in str(refused.value)


def test_every_option_can_be_set():
    texts = {
        "forbid_steps": "pipe, Container",
        "largest_download": "10 GB",
        "largest_file": "512m",
        "private_redirects": "follow",
        "link_local": "allow",
        "outside_links": "follow",
        "read_timeout": "2.5",
        "pipe_timeout": "90",
        "container_command": "podman --storage-driver=vfs",
        "container_arguments": "--label 'a b'",
        "container_network": "bridge",
        "container_memory": "",
        "container_cpus": "2",
        "container_timeout": "60",
        "ethereum_nodes": "1=https://a.example/?k=v, 137=http://b",
        "ethereum_block_stride": "500",
        "ethereum_newest": "safe",
        "mqtt_idle": "0.5",
        "mqtt_timeout": "9",
        "still_rejected": "skip",
    }
    expected = Options(
        forbidden_steps=frozenset({"Pipe", "Container"}),
        largest_download=10_737_418_240,
        largest_file=536_870_912,
        private_redirects=True,
        link_local=True,
        outside_links=True,
        read_timeout=2.5,
        pipe_timeout=90,
        container_command=("podman", "--storage-driver=vfs"),
        container_arguments=("--label", "a b"),
        container_network="bridge",
        container_memory="",
        container_cpus="2",
        container_timeout=60,
        ethereum_nodes={"1": "https://a.example/?k=v", "137": "http://b"},
        ethereum_block_stride=500,
        ethereum_newest="safe",
        mqtt_idle=0.5,
        mqtt_timeout=9,
        still_rejected="skip",
    )
    assert set(texts) == set(OPTIONS)
    assert from_texts(texts) == expected
    assert from_environment({f"ODF_{name.upper()}": text for name, text in texts.items()} | {"PATH": "/"}) == expected


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("17", 17), ("1k", 1024), ("1KiB", 1024), ("2T", 2_199_023_255_552), ("8 b", 8)]
)
def test_sizes(text, size):
    assert from_texts({"largest_file": text}).largest_file == size


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "LARGEST_FILE",
            "-1",
            "ODF_LARGEST_FILE = -1: must be a size such as 1000, 512m or 10g",
        ),
        ("PIPE_TIMEOUT", "0", "ODF_PIPE_TIMEOUT = 0: must be a number of seconds above 0"),
        ("PIPE_TIMEOUT", "1h", "ODF_PIPE_TIMEOUT = 1h: must be a number of seconds above 0"),
        ("CONTAINER_COMMAND", "a 'b", "ODF_CONTAINER_COMMAND = a 'b: must be a command line: a quotation mark is not"),
        (
            "FORBID_STEPS",
            "Pip",
            "ODF_FORBID_STEPS = Pip: Pip is not a kind of step that can be forbidden: use Pipe or",
        ),
    ],
)
def test_what_is_not_understood_is_named(name, text, message):
    with pytest.raises(InvalidInput) as caught:
        from_environment({f"ODF_{name}": text})
    assert str(caught.value).startswith(message)


def test_steps_forbidden_on_the_command_line_come_on_top():
    assert from_environment({"ODF_FORBID_STEPS": "Pipe"}, ["container"]).forbidden_steps == {"Pipe", "Container"}
    with pytest.raises(InvalidInput, match=r"^--forbid = Pip: Pip is not a kind of step"):
        from_environment({}, ["Pip"])


def test_messages_name_the_place_of_a_setting():
    options = from_environment({"ODF_LARGEST_DOWNLOAD": "2m"}, ["Pipe"])
    assert options.where("forbid_steps") == "ODF_FORBID_STEPS or --forbid"
    options.check_download(2_097_152, "a.csv")
    with pytest.raises(SourceError) as caught:
        options.check_download(2_097_153, "a.csv")
    assert str(caught.value) == (
        "a.csv: larger than 2 MB, the limit for downloads: increase ODF_LARGEST_DOWNLOAD, or split the file"
    )
