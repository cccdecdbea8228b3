import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: {
      "kserving/hooks": new URL("./src/hooks/hooks.ts", import.meta.url).pathname,
      "kserving/drivers": new URL("./src/drivers/driver.ts", import.meta.url).pathname,
      kserving: new URL("./src/index.ts", import.meta.url).pathname,
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Files wait for programs and threads that they start more than they compute.
    maxWorkers: "100%",
  },
});
