#!/usr/bin/env python3
"""Makes the quickstart's data: held-out digit images, their labels, and a small trained classifier.

The images are scikit-learn's digits set (1797 images of 8x8 pixels, values 0..16).
One fifth is held out; the rest trains a two-layer network without biases,

    logits = relu(x @ W1) @ W2        x: (rows, 64)  W1: (64, 128)  W2: (128, 10)

Three files are written to --out:

    digits_images.npy              float16 (rows, 64), held-out images, pixels scaled to 0..1
    digits_labels.npy              int32 (rows,), their labels
    digits_classifier.safetensors  BF16 fc1.weight (128, 64) and fc2.weight (10, 128),
                                   stored (out_features, in_features): y = x @ weight.T

Needs numpy and scikit-learn.
"""

import argparse
import json
import pathlib
import struct

import numpy as np
from sklearn.datasets import load_digits

HIDDEN = 128
CLASSES = 10


def to_bf16(a):
    """Rounds finite values to bfloat16 (nearest, ties to even); returns the bits as uint16."""
    bits = np.ascontiguousarray(a, dtype="<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def from_bf16(bits):
    """Widens bfloat16 bits (uint16) to float64, exactly."""
    return (bits.astype("<u4") << 16).view("<f4").astype(np.float64)


def write_safetensors(path, tensors, metadata):
    """Writes bfloat16 tensors, given as uint16 bits: header length, JSON header, raw data."""
    header, data = {"__metadata__": metadata}, b""
    for name, bits in tensors.items():
        raw = bits.tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(bits.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the length field takes 8 bytes, so the data starts aligned
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """Reads the BF16 tensors of a safetensors file as float64 arrays."""
    blob = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", blob)[0]
    tensors = {}
    for name, entry in json.loads(blob[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        bits = np.frombuffer(blob[start + begin : start + end], dtype="<u2")
        tensors[name] = from_bf16(bits).reshape(entry["shape"])
    return tensors


def write_npy(path, array):
    with open(path, "wb") as f:
        np.lib.format.write_array(f, np.ascontiguousarray(array), version=(1, 0))


def train(x, labels, rng, epochs=60, batch=32, rate=2e-3, decay=1e-4):
    """Fits W1 and W2 with Adam on the softmax cross-entropy; the rate falls to zero linearly."""
    weights = [
        rng.standard_normal((x.shape[1], HIDDEN)) * np.sqrt(2 / x.shape[1]),
        rng.standard_normal((HIDDEN, CLASSES)) * np.sqrt(1 / HIDDEN),
    ]
    mean = [np.zeros_like(w) for w in weights]
    square = [np.zeros_like(w) for w in weights]
    targets = np.eye(CLASSES)[labels]
    steps, step = epochs * -(-len(x) // batch), 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for begin in range(0, len(x), batch):
            rows = order[begin : begin + batch]
            hidden = np.maximum(x[rows] @ weights[0], 0)
            logits = hidden @ weights[1]
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)

            d_logits = (p - targets[rows]) / len(rows)
            d_hidden = (d_logits @ weights[1].T) * (hidden > 0)
            grads = [x[rows].T @ d_hidden, hidden.T @ d_logits]

            step += 1
            now = rate * (1 - (step - 1) / steps)
            for w, g, m, s in zip(weights, grads, mean, square):
                g = g + decay * w
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                w -= now * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
    return weights


def correct(x, labels, w1, w2):
    """Counts the rows whose largest logit is the label's, in float64."""
    logits = np.maximum(x.astype(np.float64) @ w1, 0) @ w2
    return int((logits.argmax(axis=1) == labels).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parent / "data",
        help="folder to write to (default: data/ beside this script)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and the training")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    digits = load_digits()
    x, labels = digits.data / 16, digits.target
    # RandomState's streams are frozen: the split is the same under every numpy.
    rng = np.random.RandomState(args.seed)
    order = rng.permutation(len(x))
    held_out = (len(x) + 4) // 5
    test, rest = order[:held_out], order[held_out:]
    w1, w2 = train(x[rest], labels[rest], rng)

    images_path = args.out / "digits_images.npy"
    labels_path = args.out / "digits_labels.npy"
    model_path = args.out / "digits_classifier.safetensors"
    write_npy(images_path, x[test].astype("<f2"))  # k/16 is exact in float16
    write_npy(labels_path, labels[test].astype("<i4"))
    write_safetensors(
        model_path,
        {"fc1.weight": to_bf16(w1.T), "fc2.weight": to_bf16(w2.T)},
        {
            "description": "Two-layer classifier without biases for 8x8 digit images: "
            "logits = relu(x @ fc1.weight.T) @ fc2.weight.T",
            "input": "64 pixels, row by row, scaled to 0..1",
            "source": "Trained on scikit-learn's digits set: Optical Recognition of Handwritten "
            "Digits, E. Alpaydin and C. Kaynak, 1998, doi:10.24432/C50P49, CC BY 4.0",
        },
    )

    # Score what was written, not what is in memory.
    images, truth, model = np.load(images_path), np.load(labels_path), read_safetensors(model_path)
    rounded = correct(images, truth, model["fc1.weight"].T, model["fc2.weight"].T)
    unrounded = correct(x[test], labels[test], w1, w2)
    rows = len(truth)
    print(f"held-out images: {rows} (trained on {len(rest)})")
    print(f"accuracy, files as written (BF16 weights): {rounded}/{rows} = {rounded / rows:.2%}")
    print(f"accuracy, before rounding the weights:     {unrounded}/{rows} = {unrounded / rows:.2%}")


if __name__ == "__main__":
    main()
