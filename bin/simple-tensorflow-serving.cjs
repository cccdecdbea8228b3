#!/usr/bin/env node
// kserving simple-tensorflow-serving, under the names that scripts call.
process.argv.splice(2, 0, "simple-tensorflow-serving");
require("./kserving.cjs");
