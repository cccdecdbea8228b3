export { type FakeModel, type FakeModelOptions, fakeModel } from "./fake-model.ts";
export { type TestContextOptions, type TestModel, testContext } from "./test-context.ts";
export { type HookRun, type HookTest, type HookTestOptions, testHooks } from "./test-hooks.ts";
