"""Generates the test vectors in this directory from docs/content.md alone (needs pip install cryptography)."""

import hashlib, json, math, os
from statistics import NormalDist
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MASK = (1 << 64) - 1


def key(label, seed):
    return hashlib.sha256(label + seed.to_bytes(8, "big")).digest()[:16]


def blocks(cipher, first, count):
    return cipher.encryptor().update(b"".join((first + i).to_bytes(16, "big") for i in range(count)))


def content(seed, name, offset, length):
    cipher = Cipher(algorithms.AES(key(b"plimsoll content 2", seed)), modes.ECB())
    pool = blocks(cipher, 0, 1024)
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")
    pages = []
    for page in range(offset // 4096, (offset + length) // 4096 + 1):
        mask = blocks(cipher, (start + page) % (1 << 128), 1)
        first = int.from_bytes(mask[14:], "big") % 1024 * 16
        piece = (pool + pool[:4096])[first : first + 4096]
        pages.append((int.from_bytes(piece, "big") ^ int.from_bytes(mask * 256, "big")).to_bytes(4096, "big"))
    return b"".join(pages)[offset % 4096 :][:length]


def draw(seed, index):
    cipher = Cipher(algorithms.AES(key(b"plimsoll dataset 1", seed)), modes.ECB())
    block = cipher.encryptor().update(index.to_bytes(16, "big"))
    return int.from_bytes(block[:8], "big"), int.from_bytes(block[8:], "big")


def uniform(bits, low, high):
    return low + (bits * (high - low + 1) >> 64)


def weighted(bits, entries):
    product = bits * sum(weight for _, _, weight in entries)
    position, rest = product >> 64, product & MASK
    for low, high, weight in entries:
        if position < weight:
            return uniform(rest, low, high)
        position -= weight


def unit(bits):
    return ((bits >> 12) + 0.5) / 2**52


def log_uniform(bits, low, high):
    size = math.exp(math.log(low) + unit(bits) * (math.log(high + 1) - math.log(low)))
    return min(max(math.floor(size), low), high)


def log_normal(bits, median, sigma, low, high):
    return min(max(round(median * math.exp(sigma * NormalDist().inv_cdf(unit(bits)))), low), high)


KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30
SIZES = {
    "1MiB": lambda i, bits: MiB,
    "4KiB..1MiB": lambda i, bits: uniform(bits, 4 * KiB, MiB),
    "1MiB,2MiB,5MiB": lambda i, bits: [MiB, 2 * MiB, 5 * MiB][i % 3],
    "64KiB:70,1MiB:25,4MiB..64MiB:5": lambda i, bits: weighted(
        bits, [(64 * KiB, 64 * KiB, 70), (MiB, MiB, 25), (4 * MiB, 64 * MiB, 5)]
    ),
    "loguniform:4KiB..1GiB": lambda i, bits: log_uniform(bits, 4 * KiB, GiB),
    "lognormal:median=1MiB,sigma=1.5,max=1GiB": lambda i, bits: log_normal(bits, MiB, 1.5, 1, GiB),
}


def content_vectors():
    for seed in (0, 1, 0x0123456789ABCDEF, (1 << 64) - 1):
        for name in ("", "a", "data/7f/object-00000012.bin", "größe/файл/文件.bin"):
            for offset, length in ((0, 64), (1, 40), (4095, 33), ((1 << 32) - 5, 16), ((1 << 40) + 7, 50)):
                data = content(seed, name, offset, length)
                yield {"seed": seed, "key": name, "offset": offset, "hex": data.hex()}


def whole_vectors():
    for name, length in (("object-00000000.bin", 1_000_003), ("dummy-00000004.testfile", 5 * MiB)):
        digest = hashlib.sha256(content(1, name, 0, length)).hexdigest()
        yield {"seed": 1, "key": name, "length": length, "sha256": digest}


def dataset_vectors():
    for seed in (1, 0xFEDCBA9876543210):
        for text, size in SIZES.items():
            objects = []
            for index in list(range(12)) + [249_999_999, (1 << 40) + 1]:
                bits, directory = draw(seed, index)
                name = "data/%02x/object-%08d.bin" % (directory * 256 >> 64, index)
                objects.append({"index": index, "key": name, "size": size(index, bits)})
            yield {"seed": seed, "sizes": text, "objects": objects}


if __name__ == "__main__":
    vectors = {"content": content_vectors, "whole": whole_vectors, "dataset": dataset_vectors}
    for file, make in vectors.items():
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file + ".json"), "w") as out:
            out.write("[\n" + ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in make()) + "\n]\n")
