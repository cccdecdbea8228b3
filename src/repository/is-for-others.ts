import { takesOption } from "../drivers/option-table.ts";
import { DRIVER_NAMES, findDriver } from "../drivers/registry.ts";
import { PYTHON_HOOK_OPTIONS } from "../hook-host/python/copy-python-hooks.ts";

const OF_PYTHON_HOOKS: readonly string[] = PYTHON_HOOK_OPTIONS;

/**
 * Checks if any driver, or hooks in Python, take a `-o` key: given for all models, it is then meant for another one.
 */
export async function isForOthers(key: string): Promise<boolean> {
  if (OF_PYTHON_HOOKS.includes(key)) return true;
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  return found.some(({ driver }) => takesOption(driver.options, key));
}
