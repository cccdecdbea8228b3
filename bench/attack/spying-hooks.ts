/** Hooks that look for secrets as the driver of the same name does. */
import { spy } from "./spying-driver.ts";

export const postprocess = spy;
