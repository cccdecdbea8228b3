import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findDriver } from "../../src/drivers/registry.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A user's driver file, which runs in a thread or in the main thread. */
const driverCode = (name: string, more = "") =>
  `export default { name: "${name}", options: {}, load: () => ({}), ${more} };`;

async function find(file: string) {
  const found = await findDriver(file);
  onTestFinished(() => found.dispose());
  return found;
}

describe("a user's driver", () => {
  test("is imported again only when its code changes: what was imported stays in memory", async () => {
    const file = join(tempFolder({ "mine.ts": driverCode("one") }), "mine.ts");
    const [first, again] = [await find(file), await find(file)];
    expect(again.driver).toBe(first.driver);
    // By which threads that share models know it.
    expect(again.location).toEqual(first.location);
    const { url } = again.location as { url: string };
    await first.dispose();
    await first.dispose();
    expect(existsSync(new URL(url))).toBe(true);
    await again.dispose();
    expect(existsSync(new URL(url))).toBe(false);
    writeFileSync(file, driverCode("two"));
    expect((await find(file)).driver.name).toBe("two");
  });

  test("that runs in the main thread has a module of its own for each model", async () => {
    const file = join(tempFolder({ "mine.ts": driverCode("one", 'placement: "inline"') }), "mine.ts");
    expect((await find(file)).driver).not.toBe((await find(file)).driver);
  });
});
