"""OAP/1 once more, from docs/oap-1.md alone: frames, capability sections, heads, control frames, compression.

Standard library only. `check.py` beside it holds this to the vectors and to the other implementation.
"""

import re
import struct
import zlib
from dataclasses import dataclass, field

HEADER = struct.Struct(">IHHHH16sHQ")
HEADER_BYTES = 38
FRAME_BYTES_MAX = 1024 * 1024
CAP_BYTES_MAX = 4096
HEAD_BYTES_MAX = 32 * 1024
HEAD_FIELDS_MAX = 100
DECODED_BYTES_MAX = 8 * 1024 * 1024
DECODED_FLOOR = 64 * 1024
DECODED_RATIO = 10

REQ, RESP, EVENT, START, END, ACK_REQ, COMP = (1 << bit for bit in range(7))
ALL_FLAGS = 127

CONTROL, HTTP = 0, 1
HELLO, CREDIT, RESET, GOAWAY, PING = range(5)


class Refused(Exception):
    """A broken rule, by its reason in the specification."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


@dataclass
class Frame:
    flags: int
    code: int = 0
    app_proto: int = 0
    tenant: int = 0
    corr_id: int = 0
    cap: bytes = b""
    payload: bytes = b""

    def encode(self):
        length = HEADER_BYTES + len(self.cap) + len(self.payload)
        if len(self.cap) > CAP_BYTES_MAX:
            raise Refused("cap-over")
        if length > FRAME_BYTES_MAX:
            raise Refused("length-over")
        tenant = self.tenant.to_bytes(16, "big")
        head = HEADER.pack(
            length, 1, self.flags, self.code, self.app_proto, tenant, len(self.cap), self.corr_id
        )
        return head + self.cap + self.payload

    @property
    def opens(self):
        return self.code != 0 or self.app_proto == CONTROL

    @property
    def ends(self):
        return bool(self.flags & END) or (self.opens and not self.flags & START)


class Decoder:
    """Takes bytes in any pieces; gives frames, and raises the first broken rule for good."""

    def __init__(self, max_frame=FRAME_BYTES_MAX):
        self.max_frame = max_frame
        self.inbox = bytearray()

    def feed(self, data):
        self.inbox += data
        while True:
            length = self._examine()
            if length is None or len(self.inbox) < length:
                return
            frame = _frame(bytes(self.inbox[:length]))
            del self.inbox[:length]
            yield frame

    def _examine(self):
        """The length of the next frame, once its header is there; faults in the order of the fields."""
        known, inbox = len(self.inbox), self.inbox

        def number(at, size):
            return int.from_bytes(inbox[at : at + size], "big")

        if known >= 4 and number(0, 4) < HEADER_BYTES:
            raise Refused("length-short")
        if known >= 4 and number(0, 4) > self.max_frame:
            raise Refused("length-over")
        if known >= 6 and number(4, 2) != 1:
            raise Refused("version")
        if known >= 8:
            _check_flags(number(6, 2))
        if known >= 12:
            _check_shape(number(6, 2), number(8, 2), number(10, 2))
        if known >= 30:
            cap = number(28, 2)
            if cap > CAP_BYTES_MAX or HEADER_BYTES + cap > number(0, 4):
                raise Refused("cap-over")
        return number(0, 4) if known >= HEADER_BYTES else None


def _check_flags(flags):
    if flags & ~ALL_FLAGS:
        raise Refused("flags-reserved")
    if flags & (REQ | RESP | EVENT) not in (REQ, RESP, EVENT):
        raise Refused("kind")


def _check_shape(flags, code, app_proto):
    if flags & EVENT and app_proto != CONTROL:
        raise Refused("event-foreign")
    if app_proto == CONTROL:
        if flags & (START | END | COMP):
            raise Refused("shape")
    elif (flags & START and code == 0) or (flags & (START | END) == END and code != 0):
        raise Refused("shape")
    opens = code != 0 or app_proto == CONTROL
    if flags & RESP and opens and not 200 <= code <= 599:
        raise Refused("status")


def _frame(data):
    _, _, flags, code, app_proto, tenant, cap_len, corr_id = HEADER.unpack_from(data)
    at = HEADER_BYTES + cap_len
    tenant = int.from_bytes(tenant, "big")
    return Frame(flags, code, app_proto, tenant, corr_id, data[HEADER_BYTES:at], data[at:])


def _printable(value):
    return bool(value) and all(0x20 <= byte <= 0x7E for byte in value)


def read_cap(section):
    """The items of a capability section, by name."""
    items, at = {}, 0
    while at < len(section):
        if len(section) - at < 3:
            raise Refused("cap-broken")
        kind, length = struct.unpack_from(">BH", section, at)
        value = section[at + 3 : at + 3 + length]
        if len(value) < length:
            raise Refused("cap-broken")
        at += 3 + length
        _item(items, kind, value)
    return items


def _item(items, kind, value):
    if kind >= 128:
        return
    if kind not in (1, 2, 3):
        raise Refused("cap-unknown")
    name = {1: "token", 2: "deadline_ms", 3: "trace"}[kind]
    good = {1: bool(value), 2: len(value) == 4, 3: _printable(value)}[kind]
    if not good or name in items:
        raise Refused("cap-broken")
    items[name] = int.from_bytes(value, "big") if kind == 2 else value


def write_cap(items):
    out = b""
    for kind, name in ((1, "token"), (2, "deadline_ms"), (3, "trace")):
        if items.get(name) is not None:
            value = items[name]
            value = struct.pack(">I", value) if kind == 2 else value
            out += struct.pack(">BH", kind, len(value)) + value
    return out


@dataclass
class Head:
    method: bytes
    target: bytes
    authority: bytes
    fields: list = field(default_factory=list)

    def encode(self):
        out = _string8(self.method) + _string16(self.target) + _string8(self.authority)
        out += struct.pack(">H", len(self.fields))
        return out + b"".join(_string8(name) + _string16(value) for name, value in self.fields)


def _string8(value):
    return struct.pack(">B", len(value)) + value


def _string16(value):
    return struct.pack(">H", len(value)) + value


TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
TARGET = re.compile(rb"\*|/[\x21-\x7e\x80-\xff]*")
AUTHORITY = re.compile(rb"[0-9A-Za-z._~!$&'()*+,;=%:\[\]-]+")


def read_head(payload):
    """The head of a request, and the body after it."""
    at = 0

    def take(size):
        nonlocal at
        if len(payload) - at < size:
            raise Refused("head-broken")
        at += size
        return payload[at - size : at]

    def string(size):
        return take(int.from_bytes(take(size), "big"))

    method, target, authority = string(1), string(2), string(1)
    count = int.from_bytes(take(2), "big")
    if count > HEAD_FIELDS_MAX:
        raise Refused("head-over")
    fields = [(string(1), string(2)) for _ in range(count)]
    good = TOKEN.fullmatch(method) and TARGET.fullmatch(target) and AUTHORITY.fullmatch(authority)
    good = good and all(NAME.fullmatch(name) and VALUE.fullmatch(value) for name, value in fields)
    if not good:
        raise Refused("head-broken")
    if at > HEAD_BYTES_MAX:
        raise Refused("head-over")
    return Head(method, target, authority, fields), payload[at:]


def credit(corr_id, size):
    return Frame(EVENT, CREDIT, CONTROL, 0, corr_id, b"", struct.pack(">I", size))


def reset(corr_id, status, reason):
    return Frame(EVENT, RESET, CONTROL, 0, corr_id, b"", struct.pack(">H", status) + reason)


def goaway(last_id, status, reason):
    return Frame(EVENT, GOAWAY, CONTROL, 0, 0, b"", struct.pack(">QH", last_id, status) + reason)


def ping(word, asks=True):
    return Frame(EVENT | (ACK_REQ if asks else 0), PING, CONTROL, 0, 0, b"", word)


def gunzip(packed):
    """A whole message that was compressed with gzip, member after member, under the limits."""
    plain, at = bytearray(), 0
    while at < len(packed):
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            piece = member.unconsumed_tail or packed[at : at + 1024]
            at += 0 if member.unconsumed_tail else len(piece)
            try:
                made = member.decompress(piece, 65536)
            except zlib.error as error:
                raise Refused("payload-broken") from error
            if not piece and not made and not member.eof:
                raise Refused("payload-broken")
            plain += made
            _check_growth(len(plain), at - len(member.unused_data))
        at -= len(member.unused_data)
    return bytes(plain)


def _check_growth(decoded, received):
    if decoded > DECODED_BYTES_MAX:
        raise Refused("decoded-cap")
    if decoded > DECODED_FLOOR and decoded > received * DECODED_RATIO:
        raise Refused("decoded-ratio")


BLAKE3_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
BLAKE3_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
BLAKE3_MIXES = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
CHUNK_START, CHUNK_END, ROOT = 1, 2, 8


def mixed(state, where, x, y):
    a, b, c, d = where
    for word, left, right in ((x, 16, 12), (y, 8, 7)):
        state[a] = (state[a] + state[b] + word) & 0xFFFFFFFF
        state[d] = turned(state[d] ^ state[a], left)
        state[c] = (state[c] + state[d]) & 0xFFFFFFFF
        state[b] = turned(state[b] ^ state[c], right)


def turned(word, bits):
    return (word >> bits) | (word << (32 - bits)) & 0xFFFFFFFF


def compressed(chain, block, flags):
    words = struct.unpack("<16I", block.ljust(64, b"\0"))
    state = [*chain, *BLAKE3_IV[:4], 0, 0, len(block), flags]
    for _ in range(7):
        for pair, where in enumerate(BLAKE3_MIXES):
            mixed(state, where, words[2 * pair], words[2 * pair + 1])
        words = [words[at] for at in BLAKE3_ORDER]
    return [state[at] ^ state[at + 8] for at in range(8)]


def tenant_id(name):
    """The first 16 bytes of BLAKE3 of a name, which is no longer than one of its chunks."""
    data = name.encode()
    if len(data) > 1024:
        raise ValueError("no tenant has such a name")
    blocks = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""]
    chain = list(BLAKE3_IV)
    for number, block in enumerate(blocks):
        flags = CHUNK_START if number == 0 else 0
        if number == len(blocks) - 1:
            flags |= CHUNK_END | ROOT
        chain = compressed(chain, block, flags)
    return int.from_bytes(struct.pack("<4I", *chain[:4]), "big")
