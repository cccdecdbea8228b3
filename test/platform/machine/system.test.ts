import { homedir, tmpdir } from "node:os";
import { expect, test, vi } from "vitest";
import { homeFolder } from "../../../src/platform/machine/system.ts";

vi.mock("node:os", async (load) => ({ ...(await load<typeof import("node:os")>()), homedir: vi.fn() }));

test("a user's home is what the system says", () => {
  vi.mocked(homedir).mockReturnValue("/home/ann");
  expect(homeFolder()).toBe("/home/ann");
});

test("a user whom the system does not know has the folder for temporary files", () => {
  vi.mocked(homedir).mockImplementation(() => {
    throw new Error("uv_os_homedir returned ENOENT");
  });
  expect(homeFolder()).toBe(tmpdir());
});

test("the root folder, which containers give to unknown users, is no home", () => {
  vi.mocked(homedir).mockReturnValue("/");
  expect(homeFolder()).toBe(tmpdir());
});
