#!/bin/sh
# Takes out of ./node_modules what a server on this machine never reads, and links the programs of kserving into ./bin.
set -eu
modules=node_modules
arch=$(node -p process.arch)

# ONNX Runtime's libraries for other systems and processors.
runtime=$modules/onnxruntime-node/bin
find "$runtime" -mindepth 2 -maxdepth 2 -type d ! -name linux -exec rm -rf {} +
find "$runtime" -mindepth 3 -maxdepth 3 -type d ! -name "$arch" -exec rm -rf {} +

# What compilers, debuggers and browsers read. Node.js loads the .node.js form of TensorFlow.js.
find "$modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
find "$modules/@tensorflow" -type f \( -name '*.min.js' -o -name '*.fesm.js' -o -name '*.es2017.js' \) -delete
rm -rf "$modules/@types"

mkdir -p bin
node -p 'Object.keys(require("./node_modules/kserving/package.json").bin).join("\n")' | while read -r name; do
  ln -s "../$modules/.bin/$name" "bin/$name"
done
