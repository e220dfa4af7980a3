#!/usr/bin/env python3
"""A hint by a second implementation of proto/hints.md, in plain Python, which
first proves itself by the examples of the RFCs. What it prints stands in
tests/unit/check_hint_keys.c.

    tests/unit/data/hints/vector.py
"""
import hashlib
import hmac
import struct

P = 2 ** 255 - 19

ALICE = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
BOB = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"


# ---- RFC 7748, X25519 ----------------------------------------------------

def x25519(scalar, point):
    k = bytearray(scalar)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    k = int.from_bytes(k, "little")
    x1 = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in range(254, -1, -1):
        bit = k >> t & 1
        if swap != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b = (x2 + z2) % P, (x2 - z2) % P
        aa, bb = a * a % P, b * b % P
        e = (aa - bb) % P
        da, cb = (x3 - z3) * a % P, (x3 + z3) * b % P
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def public(private):
    return x25519(private, bytes([9]) + bytes(31))


# ---- RFC 5869, HKDF-SHA256 -----------------------------------------------

def hkdf(secret, salt, info, length):
    key = hmac.new(salt, secret, hashlib.sha256).digest()
    block, out, n = b"", b"", 1
    while len(out) < length:
        block = hmac.new(key, block + info + bytes([n]),
                         hashlib.sha256).digest()
        out += block
        n += 1
    return out[:length]


# ---- RFC 8439, ChaCha20-Poly1305 -----------------------------------------

def rotate(x, n):
    return (x << n | x >> 32 - n) & 0xffffffff


def chacha_block(key, counter, nonce):
    start = struct.unpack("<16I", b"expand 32-byte k" + key +
                          struct.pack("<I", counter) + nonce)
    w = list(start)
    rounds = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)] + \
        [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
         for i in range(4)]
    for _ in range(10):
        for a, b, c, d in rounds:
            for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8),
                               (c, d, b, 7)):
                w[x] = w[x] + w[y] & 0xffffffff
                w[z] = rotate(w[z] ^ w[x], n)
    return struct.pack("<16I", *(x + y & 0xffffffff
                                 for x, y in zip(start, w)))


def chacha(key, nonce, text):
    return b"".join(
        bytes(x ^ y for x, y in zip(text[i:i + 64],
                                    chacha_block(key, 1 + i // 64, nonce)))
        for i in range(0, len(text), 64))


def poly(key, text):
    r = int.from_bytes(key[:16], "little") & \
        0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for i in range(0, len(text), 16):
        n = int.from_bytes(text[i:i + 16] + b"\1", "little")
        total = (total + n) * r % ((1 << 130) - 5)
    total += int.from_bytes(key[16:], "little")
    return (total & (1 << 128) - 1).to_bytes(16, "little")


def padded(text):
    return text + bytes(-len(text) % 16)


def seal(key, nonce, head, text):
    sealed = chacha(key, nonce, text)
    return sealed + poly(chacha_block(key, 0, nonce)[:32],
                         padded(head) + padded(sealed) +
                         struct.pack("<QQ", len(head), len(sealed)))


# ---- SipHash-2-4 ---------------------------------------------------------

def turn(x, n):
    return (x << n | x >> 64 - n) & (1 << 64) - 1


def sip_round(v):
    for a, b, c, d, n, m in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
        v[a] = v[a] + v[b] & (1 << 64) - 1
        v[b] = turn(v[b], n) ^ v[a]
        v[a] = turn(v[a], 32)
        v[c] = v[c] + v[d] & (1 << 64) - 1
        v[d] = turn(v[d], m) ^ v[c]


def siphash(key, text):
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
    text += bytes(-(len(text) + 1) % 8) + bytes([len(text) & 255])
    for (m,) in struct.iter_unpack("<Q", text):
        v[3] ^= m
        sip_round(v)
        sip_round(v)
        v[0] ^= m
    v[2] ^= 255
    for _ in range(4):
        sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


# ---- proto/hints.md ------------------------------------------------------

def pair_key(private, peer_public, sender, receiver):
    return hkdf(x25519(private, peer_public), b"ddblock hints 1",
                sender + receiver, 32)


def digest(key):
    return siphash(b"ddblock hints 1 ", key).to_bytes(8, "big")


def hint(key, sender_id, receiver_id, sequence, kind, digests):
    head = b"ddh\1" + sender_id + receiver_id + struct.pack(">Q", sequence)
    body = bytes([kind, len(digests), 0, 0]) + b"".join(digests)
    body += bytes(132 - len(body))
    return head + seal(key, bytes(4) + struct.pack(">Q", sequence), head, body)


def prove():
    a, b = bytes.fromhex(ALICE), bytes.fromhex(BOB)
    assert public(a).hex() == ("8520f0098930a754748b7ddcb43ef75a"
                               "0dbf3a0d26381af4eba4a98eaa9b4e6a")
    assert x25519(a, public(b)).hex() == ("4a5d9d5ba4ce2de1728e3bf480350f25"
                                          "e07e21c947d19e3376f09b3c1e161742")
    assert hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xf0, 0xfa)),
                42).hex() == ("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a"
                              "4c5db02d56ecc4c5bf34007208d5b887185865")
    assert siphash(bytes(range(16)), bytes(range(15))) == 0xa129ca6149be45e5
    text = bytes.fromhex(
        "4c616469657320616e642047656e746c656d656e206f662074686520636c617373"
        "206f66202739393a204966204920636f756c64206f6666657220796f75206f6e6c"
        "79206f6e652074697020666f7220746865206675747572652c2073756e73637265"
        "656e20776f756c642062652069742e")
    sealed = seal(bytes(range(0x80, 0xa0)),
                  bytes.fromhex("070000004041424344454647"),
                  bytes.fromhex("50515253c0c1c2c3c4c5c6c7"), text)
    assert sealed[-16:].hex() == "1ae10b594f09e26a7e902ecbd0600691"


def main():
    prove()
    a, b = bytes.fromhex(ALICE), bytes.fromhex(BOB)
    id_a, id_b = bytes(range(16)), bytes(range(16, 32))
    party_a, party_b = id_a + public(a), id_b + public(b)
    named = digest(b"jobs/nightly")
    key = pair_key(a, public(b), party_a, party_b)
    print("digest  ", named.hex())
    print("a to b  ", key.hex())
    print("b to a  ", pair_key(a, public(b), party_b, party_a).hex())
    print("hint    ", hint(key, id_a, id_b, 0x0102030405060708, 1,
                           [named]).hex())


if __name__ == "__main__":
    main()
