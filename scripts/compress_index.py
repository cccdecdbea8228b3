"""Compresses the index of a checkpoint with Snappy, as TensorFlow 1 wrote it where it was built with that library."""

import struct

FOOTER_BYTES = 48
SNAPPY = 1


def compress_index(path):
    """Rewrites a variables.index in place: the same entries, each block compressed."""
    data = path.read_bytes()
    footer = data[-FOOTER_BYTES:]
    (meta, index), written = handles(footer, 2), bytearray()
    blocks = [
        (key, append(written, block_of(data, handles(handle, 1)[0]))) for key, handle in entries(block_of(data, index))
    ]
    ends = append(written, block_of(data, meta)) + append(written, block(blocks))
    path.write_bytes(bytes(written) + ends.ljust(FOOTER_BYTES - 8, b"\0") + footer[-8:])


def append(written, content):
    """Writes a block with its trailer; gives its handle."""
    packed, method = snappy(content), bytes([SNAPPY])
    handle = varint(len(written)) + varint(len(packed))
    written += packed + method + struct.pack("<I", masked_crc32c(packed + method))
    return handle


def block_of(data, handle):
    offset, size = handle
    assert data[offset + size] == 0, "the index is compressed already"
    return data[offset : offset + size]


def entries(content):
    """The keys and values of a block."""
    (restarts,) = struct.unpack("<I", content[-4:])
    end, position, key = len(content) - 4 - 4 * restarts, 0, b""
    while position < end:
        shared, position = read_varint(content, position)
        own, position = read_varint(content, position)
        size, position = read_varint(content, position)
        key = key[:shared] + content[position : position + own]
        yield key, content[position + own : position + own + size]
        position += own + size


def block(pairs):
    """A block in which no key shares its beginning with another."""
    content = b"".join(b"\0" + varint(len(key)) + varint(len(value)) + key + value for key, value in pairs)
    return content + struct.pack("<II", 0, 1)


def snappy(content):
    """Snappy's raw format, with a copy wherever four bytes were seen within the last 64 KB."""
    packed, seen, position, start = bytearray(varint(len(content))), {}, 0, 0
    while position + 4 <= len(content):
        word = content[position : position + 4]
        found = seen.get(word)
        seen[word] = position
        if found is None or position - found > 0xFFFF:
            position += 1
            continue
        length = 4
        while length < 64 and position + length < len(content) and content[found + length] == content[position + length]:
            length += 1
        packed += literal(content[start:position]) + copy(position - found, length)
        position = start = position + length
    return bytes(packed + literal(content[start:]))


def literal(content):
    if not content:
        return b""
    size = len(content) - 1
    return (bytes([size << 2]) if size < 60 else b"\xf4" + struct.pack("<H", size)) + content


def copy(offset, length):
    if length < 12 and offset < 2048:
        return bytes([(offset >> 8) << 5 | (length - 4) << 2 | 1, offset & 0xFF])
    return struct.pack("<BH", (length - 1) << 2 | 2, offset)


def handles(content, count):
    position, found = 0, []
    for _ in range(count):
        offset, position = read_varint(content, position)
        size, position = read_varint(content, position)
        found.append((offset, size))
    return found


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def read_varint(content, position):
    value = shift = 0
    while True:
        byte = content[position]
        value, shift, position = value | (byte & 0x7F) << shift, shift + 7, position + 1
        if byte < 0x80:
            return value, position


def masked_crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
