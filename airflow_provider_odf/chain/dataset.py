"""``Dataset``: one dataset of a store, as blocks and refs (specification: Metadata Chain), and which folders of a
store are datasets."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.dataset_registry import Entry
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.errors import ChainCorrupted, DatasetGone, DatasetNotFound
from airflow_provider_odf.manifest.model import AddData, ExecuteTransform, MetadataBlock, Seed
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetUri, is_alias

HEAD = "head"
ORIGIN = "info/copy-of"
"""File of a read-only copy with the location of what it is a copy of. Other tools ignore it."""
RESTORE = "restore it from a backup or a copy of the dataset"
"""Next step for a missing or damaged file."""


@dataclass(frozen=True)
class Dataset:
    """A dataset that exists once its ref ``head`` does."""

    alias: DatasetAlias
    storage: Storage
    cache: Path | None = field(default=None, compare=False)
    """Directory of disposable caches about the dataset, which may not exist; None without a store."""
    found_head: str | None = field(default=None, compare=False, repr=False)
    """What the head was when a store looked for the dataset just now; None if nobody read it then."""
    entry: Entry | None = field(default=None, compare=False, repr=False)
    """What the registry of its store has for the name, as far as a store looked it up."""

    @property
    def uri(self) -> str:
        """URI of the dataset's folder: its name in lineage and as an Airflow asset."""
        return self.storage.uri

    @property
    def location(self) -> str:
        """The path of the dataset's folder on this machine, or its URI."""
        return self.storage.location()

    def command(self, *words: str) -> str:
        """Return an ``odf`` command about this dataset, with its store. The words have ``{}`` in place of the
        dataset."""
        root = self.location[: -len(str(self.alias)) - 1]
        named = (str(self.alias) if word == "{}" else word for word in words)
        return " ".join(map(shlex.quote, ("odf", *named, "--store", root)))

    def check_identity(self, dataset_id: str) -> None:
        """Compare the id in the chain with that in the registry.

        :raises DatasetGone: the folder has another dataset, such as that of a wrong mount.
        """
        if self.entry is not None and self.entry.is_of_another(dataset_id):
            raise DatasetGone(
                f"{self.location}: the folder contains the dataset {dataset_id} instead of {self.entry.dataset_id}: "
                f"restore the folder, or run `{self.command('forget', '{}')}` to continue with {dataset_id}"
            )

    def head(self, ref: str = HEAD) -> str | None:
        """Return the block hash of a ref, or None if there is no such ref.

        :raises ChainCorrupted: the ref does not hold the hash of a stored block.
        """
        text = self.storage.get_ref(ref)
        return self.target(ref, text) if text is not None else None

    def first_head(self) -> str | None:
        """Return the head for a step that begins with the look for the dataset: it is not read a second time.

        :raises ChainCorrupted: the ref does not hold the hash of a stored block.
        """
        return self.target(HEAD, self.found_head) if self.found_head is not None else self.head()

    def target(self, ref: str, text: str) -> str:
        """Return the block hash that a ref holds.

        :raises ChainCorrupted: it does not hold the hash of a stored block.
        """
        if not (is_hash(text) and self.storage.stat(f"blocks/{text}")):
            raise self._damaged_ref(ref, text)
        return text

    def _damaged_ref(self, ref: str, text: str) -> ChainCorrupted:
        blocks = [name for name in self.storage.names("blocks") if name.startswith("f1620")]
        what = "but blocks/ has no such block" if is_hash(text) else "which is not a block hash"
        near = difflib.get_close_matches(text, blocks, n=1, cutoff=0.9)
        advice = (
            f"write the similar block hash {near[0]} into the file, then run `{self.command('verify', '{}')}`"
            if near
            else "restore the file from a backup, or write into it the block hash of the dataset's newest asset event"
        )
        file = self.storage.location(f"refs/{ref}")
        return ChainCorrupted(f"{file} is damaged: it holds {text[:80]!r}, {what}; {advice}")

    @property
    def origin(self) -> str | None:
        """The location from which this read-only copy was made; None for a dataset that goes on by itself."""
        data = self.storage.get(ORIGIN)
        return data.decode("utf-8", "replace").strip() if data is not None else None

    def block_data(self, block_hash: str) -> bytes:
        """Return the bytes of the block of a hash.

        :raises ChainCorrupted: its file is missing or has other bytes.
        """
        path = f"blocks/{block_hash}"
        data = self.storage.get(path)
        if data is None:
            raise ChainCorrupted(f"{self.storage.location(path)}: the block is missing; {RESTORE}")
        if (actual := multiformats.sha3_256(data)) != block_hash:
            raise ChainCorrupted(
                f"{self.storage.location(path)}: checksum mismatch: the content has the hash {actual}; "
                f"the file is damaged: {RESTORE}"
            )
        return data

    def block(self, block_hash: str) -> MetadataBlock:
        """Return the block of a hash.

        :raises ChainCorrupted: its file is missing, has other bytes, or is not a block.
        """
        return self.decode(block_hash, self.block_data(block_hash))

    def decode(self, block_hash: str, data: bytes) -> MetadataBlock:
        """Return the block in the bytes of a hash.

        :raises ChainCorrupted: they are no block.
        """
        try:
            return codec.decode(data)
        except ChainCorrupted as e:
            raise ChainCorrupted(f"{self.storage.location(f'blocks/{block_hash}')}: {e}") from e

    def resolve(self, ref_or_hash: str) -> str:
        """Return the block hash that a ref or a hash names.

        :raises DatasetNotFound: there is no such ref.
        """
        block_hash = ref_or_hash if is_hash(ref_or_hash) else self.head(ref_or_hash)
        if block_hash is None:
            refs = ", ".join(self.storage.refs()) or "none"
            raise DatasetNotFound(f"dataset {self.alias} has no ref {ref_or_hash!r}; its refs are: {refs}")
        return block_hash

    def walk(self, ref_or_hash: str = HEAD) -> Iterator[tuple[str, MetadataBlock]]:
        """Yield hashes and blocks from the newest to the seed.

        :raises DatasetNotFound: there is no such ref.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        block_hash: str | None = self.resolve(ref_or_hash)
        while block_hash is not None:
            block = self.block(block_hash)
            yield block_hash, block
            block_hash = block.prev_block_hash

    def data_blocks(self, ref_or_hash: str = HEAD, most: int | None = None) -> Iterator[tuple[str, MetadataBlock]]:
        """Yield hashes and blocks of data from the newest to the oldest.

        :param most: how many of the newest blocks, of any kind, are read; None for all.
        :raises DatasetNotFound: there is no such ref.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        for block_hash, block in islice(self.walk(ref_or_hash), most):
            if isinstance(block.event, AddData | ExecuteTransform):
                yield block_hash, block

    def contains(self, head: str, block_hash: str) -> bool:
        """Return whether the chain that ends at ``head`` has a block, the newest one included.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        lowest = self.block(block_hash).sequence_number
        for current, block in self.walk(head):
            if current == block_hash:
                return True
            if block.sequence_number <= lowest:
                return False
        return False

    def common_block(self, one: str, other: str) -> str | None:
        """Return the newest block that is in the chains of two blocks, or None if they are of different histories.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        newer, older = (one, self.block(one)), (other, self.block(other))
        while newer[0] != older[0]:
            if newer[1].sequence_number < older[1].sequence_number:
                newer, older = older, newer
            previous = newer[1].prev_block_hash
            if previous is None:
                return None
            newer = (previous, self.block(previous))
        return newer[0]


def is_hash(text: str) -> bool:
    """Return whether a text is a block hash as refs and file names have it (base16)."""
    try:
        return multiformats.encode(multiformats.decode_hash(text)) == text and text.startswith("f1620")
    except ValueError:
        return False


LAYOUT = ("blocks", "checkpoints", "data", "info", "refs")
"""Folders of a dataset."""


def dataset_at(uri: DatasetUri) -> Dataset | None:
    """Return the dataset in a folder, or None if the folder has none. Its alias is the name of the folder, with that of
    the account if the folder is in one; a name that is no alias is replaced by the alias in the dataset."""
    storage = open_storage(uri.text)
    path = unquote(uri.text).split("/")
    stored = (storage.get("info/alias") or b"").decode("utf-8", "replace").strip()
    is_in_account = stored.lower() == "/".join(path[-2:]).lower()
    name = next(filter(is_alias, ("/".join(path[-2:]) if is_in_account else path[-1], stored)), None)
    return existing(storage, DatasetAlias.parse(name)) if name is not None else None


def existing(folder: Storage, alias: DatasetAlias) -> Dataset | None:
    """Return the dataset in a folder, or None if the folder has no head."""
    return Dataset(alias, folder) if folder.stat(f"refs/{HEAD}") is not None else None


def same_name(folder: Storage, name: str) -> str | None:
    """Return the subfolder with this name, ignoring case."""
    if folder.folder(name).exists():
        return name
    return next((entry for entry in dataset_names(folder) if entry.lower() == name.lower()), None)


def dataset_names(folder: Storage) -> list[str]:
    """Return the names of the subfolders that can be datasets or accounts, sorted."""
    names = (name for name in folder.folders() if name not in LAYOUT and _is_name(name))
    return sorted(names, key=str.lower)


def _is_name(text: str) -> bool:
    return "/" not in text and is_alias(text)


def id_in_chain(dataset: Dataset) -> str | None:
    """Return the id in the seed of a chain."""
    *_, (_, seed) = dataset.walk()
    return seed.event.dataset_id if isinstance(seed.event, Seed) else None
