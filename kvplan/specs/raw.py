"""The shape of a spec file, for those that come from outside."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, Strict, ValidationError, field_validator, model_validator

from kvplan.core.checkpoint import Part
from kvplan.core.dtypes import DTYPES
from kvplan.core.errors import RequestError
from kvplan.core.roles import Role

Count = Annotated[int, Strict(), Field(ge=0, lt=2**63)]


class CheckpointFacts(BaseModel):
    """What the headers of the model's files said when the spec was made; holdings are lists in the order of ``Holding``."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["safetensors", "torch"]
    basis: Literal["headers", "file sizes"]
    n_files: Count
    file_bytes: Count
    n_bytes: Count
    holdings: list[tuple[Part, Role, str, Count, Count, Count]] = []

    @model_validator(mode="after")
    def _adds_up(self) -> "CheckpointFacts":
        for part, role, dtype, _, n_elems, n_bytes in self.holdings:
            if dtype not in DTYPES:
                raise ValueError(f"holdings: unknown element type {dtype!a}")
            block = DTYPES[dtype]
            if n_elems * block.block_bytes != n_bytes * block.block_elems:
                raise ValueError(f"holdings: {part}, {role}: {n_elems:,} elements of {dtype} do not take {n_bytes:,} bytes")
        held = sum(holding[-1] for holding in self.holdings) if self.basis == "headers" else self.file_bytes
        if held != self.n_bytes:
            raise ValueError(f"n_bytes: expected {held:,}, the sum of what is held, found {self.n_bytes:,}")
        if self.basis == "file sizes" and self.holdings:
            raise ValueError("holdings: expected none where file sizes are all that is known")
        if self.file_bytes < self.n_bytes or not self.n_files:
            raise ValueError(f"expected files of at least {self.n_bytes:,} bytes, found {self.n_files} of {self.file_bytes:,}")
        return self


class SpecFile(BaseModel):
    """A model as in ``model_specs/``: who it is, where its facts are from, and its config."""

    model_config = ConfigDict(extra="forbid")

    id: str
    aliases: list[str] = []
    repo: str | None = None
    revision: str | None = None
    facts: str | None = None
    as_of: date | None = None
    n_params: Annotated[PositiveInt, Strict()] | None = None
    checkpoint: CheckpointFacts | None = None
    config: dict[str, object]

    @field_validator("id")
    @classmethod
    def _can_be_shown(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError(f"expected a name of printable characters, found {value!a}")
        return value


def validated(data: Mapping[str, object], *, where: str) -> dict[str, object]:
    """``data`` as a SpecFile. Raises RequestError with the key path of the first thing that is wrong."""
    try:
        return SpecFile.model_validate(data).model_dump()
    except ValidationError as problem:
        first = problem.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise RequestError(
            "bad_spec",
            f"{where}: {path}: {_plainly(first['msg'])}",
            hint="`kvplan models llama-2-7b --spec` prints a good one",
        ) from None


def _plainly(message: str) -> str:
    said = message.removeprefix("Value error, ")
    return f"{said[0].lower()}{said[1:]}"
