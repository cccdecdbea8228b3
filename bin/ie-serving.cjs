#!/usr/bin/env node
// kserving ie_serving, under the name that scripts call.
process.argv.splice(2, 0, "ie_serving");
require("./kserving.cjs");
