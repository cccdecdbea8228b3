#!/usr/bin/env node
// kserving ovms, under the name that scripts call.
process.argv.splice(2, 0, "ovms");
require("./kserving.cjs");
