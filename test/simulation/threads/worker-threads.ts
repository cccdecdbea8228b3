/**
 * Imports the sources that save built-ins of Node as soon as they are imported, so that they save simulated ones: to be
 * imported before any other source. All else looks a built-in up when it needs it.
 */
import "./save-built-ins.ts";

import "../../../src/platform/threads/own-built-ins.ts";

import "../../../src/platform/threads/host-port.ts";

import { restoreBuiltIns } from "./save-built-ins.ts";

restoreBuiltIns();
