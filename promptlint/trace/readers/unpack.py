"""Packed logs: gzip, xz and zstandard, told by the first bytes, read as far as they go.

The file objects of the standard library drop what they have unpacked so far when they meet a cut or
a wrong byte. A log that is still being written, or was copied half, ends like that, so unpacking is
done here step by step: everything before the damage is handed out, and the damage is named.
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from promptlint.errors import InputError

_CHUNK = 1 << 16  # packed bytes taken at a time
_ZSTD_CHUNK = 1 << 10  # its unpacker has no limit: a few bytes can stand for a block of 128 KB


class _Member(Protocol):
    """Unpacks one member of an archive."""

    @property
    def eof(self) -> bool:
        """Tell whether the end of the member was reached."""
        ...

    @property
    def hungry(self) -> bool:
        """Tell whether all data given so far was used."""
        ...

    @property
    def unused(self) -> bytes:
        """Return what stands behind the end of the member."""
        ...

    def unpack(self, data: bytes, size: int) -> bytes:
        """Return about ``size`` bytes at most, from ``data`` and what was left of earlier data."""
        ...


class _Gzip:
    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._unpacker.eof

    @property
    def hungry(self) -> bool:
        return not self._unpacker.unconsumed_tail

    @property
    def unused(self) -> bytes:
        return self._unpacker.unused_data

    def unpack(self, data: bytes, size: int) -> bytes:
        return self._unpacker.decompress(self._unpacker.unconsumed_tail + data, size)


class _Xz:
    def __init__(self) -> None:
        self._unpacker = lzma.LZMADecompressor()

    @property
    def eof(self) -> bool:
        return self._unpacker.eof

    @property
    def hungry(self) -> bool:
        return self._unpacker.needs_input

    @property
    def unused(self) -> bytes:
        return self._unpacker.unused_data

    def unpack(self, data: bytes, size: int) -> bytes:
        return self._unpacker.decompress(data, size)


class _Zstd:
    hungry = True

    def __init__(self) -> None:
        import zstandard

        self._unpacker = zstandard.ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._unpacker.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self._unpacker.unused_data)

    def unpack(self, data: bytes, size: int) -> bytes:
        return bytes(self._unpacker.decompress(data)) if data else b""


class Unpacked(io.RawIOBase):
    """The unpacked bytes of an archive of one or more members.

    Reading never fails on a damaged archive: it ends there, and ``damage`` says why.
    """

    def __init__(self, raw: BinaryIO, make: Callable[[], _Member], chunk: int) -> None:
        self._raw, self._make, self._chunk = raw, make, chunk
        self._member: _Member | None = None
        self._packed = b""  # read, and not yet given to a member
        self._ready = b""  # unpacked, and more than was asked for
        self.damage = ""

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the packed file too."""
        self._raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as `io.RawIOBase` says; 0 at the end and at the damage."""
        data = self._ready or self._more(len(buffer))
        taken, self._ready = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _more(self, size: int) -> bytes:
        while not self.damage:
            if not self._packed and (self._member is None or self._member.hungry):
                self._packed = self._raw.read(self._chunk)
            if self._member is None:
                ended = not self._packed
                self._packed = self._packed.lstrip(b"\0")  # members may be padded
                if ended:
                    return b""
                if not self._packed:
                    continue
                self._member = self._make()
            data, self._packed = self._packed, b""
            try:
                out = self._member.unpack(data, size)
            except Exception as error:
                if not _is_damage(error):
                    raise
                self.damage = f"the archive is damaged here, what stands before was read ({error})"
                return b""
            if self._member.eof:
                self._packed, self._member = self._member.unused, None
            elif not data and not out:
                self.damage = "the archive is cut off here, what stands before was read"
            if out:
                return out
        return b""


def _is_damage(error: Exception) -> bool:
    return isinstance(error, zlib.error | lzma.LZMAError | EOFError) or (
        type(error).__module__.partition(".")[0] == "zstandard"
    )


def unpacked(raw: BinaryIO, magic: bytes, path: str) -> Unpacked | None:
    """Return the unpacked stream of an archive, or None for a plain file; ``magic`` are its first bytes.

    Raises:
        InputError: zstandard data, and zstandard is not installed.
    """
    if magic.startswith(b"\x1f\x8b"):
        return Unpacked(raw, _Gzip, _CHUNK)
    if magic.startswith(b"\xfd7zXZ\x00"):
        return Unpacked(raw, _Xz, _CHUNK)
    if not magic.startswith(b"\x28\xb5\x2f\xfd"):
        return None
    from importlib.util import find_spec

    if find_spec("zstandard") is None:
        raise InputError(f"{path}: zstandard data", "install promptlint-cache[trace], or unpack the file")
    return Unpacked(raw, _Zstd, _ZSTD_CHUNK)
