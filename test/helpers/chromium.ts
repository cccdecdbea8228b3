import { existsSync } from "node:fs";

/** Debian's browser without windows, which takes half of the processor, or the one with them. */
const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** The browser of the tests: Debian's; `KSERVING_TEST_CHROMIUM` names another one. */
export const CHROMIUM =
  process.env.KSERVING_TEST_CHROMIUM ?? PLACES.find((path) => existsSync(path)) ?? PLACES[0] ?? "";
