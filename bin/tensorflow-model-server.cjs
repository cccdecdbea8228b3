#!/usr/bin/env node
// kserving tensorflow-model-server, under the name that scripts call.
process.argv.splice(2, 0, "tensorflow-model-server");
require("./kserving.cjs");
