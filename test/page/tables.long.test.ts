import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { tellingDriver } from "../helpers/echo-driver.ts";
import { findPython } from "../helpers/find-python.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { lacksChromium, openPage, seriousFindings } from "./browser.ts";

const COLUMNS = [
  { name: "age", dtype: "float64", shape: [-1] },
  { name: "city", dtype: "bytes", shape: [-1], categories: ["Paris", "Rome"] },
  { name: "rooms", dtype: "float64", shape: [-1], categories: [3, 4, 5] },
  { name: "note", dtype: "bytes", shape: [-1] },
  { name: "new", dtype: "bool", shape: [-1] },
];

const python = findPython("A table of scikit-learn in the page", ["sklearn", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "sklearn.compose");

/** Writes a pipeline that fills in missing ages, and knows two cities. */
const PIPELINE = `
import sys, joblib, numpy as np, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
frame = pd.DataFrame({"age": [20.0, np.nan, 40.0, 50.0], "city": ["Paris", "Rome", "Paris", "Rome"]})
columns = make_column_transformer((SimpleImputer(), ["age"]), (OneHotEncoder(), ["city"]))
joblib.dump(make_pipeline(columns, LogisticRegression()).fit(frame, ["no", "yes", "no", "yes"]), sys.argv[1])
`;

/** A model of a table, which tells as texts what it gets. */
function table(signature: object = { isTabular: true, suggestedInputs: COLUMNS }) {
  const driver = `${tempFolder()}/table.ts`;
  writeFileSync(driver, tellingDriver(signature));
  return { stages: [{ driver }] };
}

async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("region", { name: "Answer" }).waitFor();
}

async function waitForValues(page: Page, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await page.getByRole("cell", { name: text, exact: true }).first().waitFor();
}

describe.skipIf(lacksChromium())("the form of a table", () => {
  test("has a field for each column: a number, a choice, a slider, a text", async () => {
    const page = await openPage((await startServer({ models: { homes: table() } })).httpUrl);
    await page.getByLabel(/^age/).fill("30.5");
    const city = page.getByRole("combobox", { name: /^city/ });
    expect(await city.locator("option").allInnerTexts()).toEqual(["(missing)", "Paris", "Rome"]);
    await city.selectOption("Rome");
    await page.getByRole("slider", { name: "rooms, as a slider" }).press("ArrowRight");
    expect(await page.getByRole("textbox", { name: /^rooms/ }).inputValue()).toBe("4");
    await page.getByRole("textbox", { name: /^note/ }).fill("with a view");
    await page.getByRole("combobox", { name: /^new/ }).selectOption("true");
    expect(await seriousFindings(page)).toEqual([]);
    await run(page);
    await waitForValues(page, "1: 30.5", "1: Rome", "1: 4", "1: with a view", "1: 1");
    expect(await seriousFindings(page)).toEqual([]);
  });

  test.skipIf(python === undefined)("is that of a pipeline of scikit-learn", async () => {
    const path = `${tempFolder()}/homes.joblib`;
    execFileSync(warm, ["-c", PIPELINE, path], { stdio: ["ignore", "ignore", "inherit"] });
    const options = { python: warm, allow_pickle: "true" };
    const models = { homes: { stages: [{ driver: "sklearn", path, options }] } };
    const page = await openPage((await startServer({ models })).httpUrl);
    await page.getByLabel(/^age/).fill("");
    await page.getByRole("combobox", { name: /^city/ }).selectOption("Rome");
    await run(page);
    await waitForValues(page, "yes");
  });

  test("has rows, of which values may be missing", async () => {
    const page = await openPage((await startServer({ models: { homes: table() } })).httpUrl);
    await page.getByLabel(/^age/).fill("");
    await page.getByRole("combobox", { name: /^city/ }).selectOption("");
    await page.getByRole("button", { name: "Add a row" }).click();
    const second = page.getByRole("group", { name: "Row 2" });
    await second.getByLabel(/^age/).fill("2");
    await second.getByRole("combobox", { name: /^city/ }).selectOption("Rome");
    await run(page);
    await waitForValues(page, "2: NaN | 2", "2: missing | Rome");
    await page.getByText("The same request as a program").click();
    await page.getByText('"name": "city", "datatype": "BYTES", "shape": [2], "data": [null, "Rome"]').waitFor();
    await page.getByRole("button", { name: "Remove row 1" }).click();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Add a row");
    await second.waitFor({ state: "detached" });
    await run(page);
    await waitForValues(page, "1: 2", "1: Rome");
    await page.getByLabel(/^age/).fill("old");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText('Row 1, age: "old" is not FP64; expected a number.').first().waitFor();
  });

  test("takes rows that are pasted, and shows the first of many", async () => {
    const page = await openPage((await startServer({ models: { homes: table() } })).httpUrl);
    await page.getByText("Paste rows").click();
    const text = page.getByLabel(/^Rows of CSV/);
    await text.fill("age,city\n1,Rome");
    await page.getByRole("button", { name: "Use these rows" }).click();
    await page.getByText("The rows lack rooms, note, new; expected age, city, rooms, note, new.").waitFor();
    await text.fill(`id,new,note,rooms,city,age\n${'7,True,"a, b",3,Oslo,\n'.repeat(30)}`);
    await page.getByRole("button", { name: "Use these rows" }).click();
    await page.getByText("30 rows are in the form, without id.").waitFor();
    await page.getByText("10 more rows go with the request.").waitFor();
    await expect.poll(() => page.getByRole("group", { name: /^Row/ }).count()).toBe(20);
    expect(await page.getByRole("combobox", { name: /^city/ }).first().inputValue()).toBe("Oslo");
    expect(await seriousFindings(page)).toEqual([]);
    await run(page);
    await waitForValues(page, `30: ${new Array(30).fill("Oslo").join(" | ")}`);
    await page.getByRole("button", { name: "Keep the first row alone" }).click();
    await run(page);
    await waitForValues(page, "1: NaN", "1: Oslo", "1: a, b", "1: 1");
  });

  test("is there for the names of features in rows, and for declared columns; tensors can be had in its place", async () => {
    const rows = [{ name: "input", dtype: "float32", shape: [-1, 2], features: ["width", "height"] }];
    const declared = [
      { name: "a", dtype: "float32", shape: [-1, 1] },
      { name: "b", dtype: "bytes", shape: [-1, 1] },
    ];
    const models = { rows: table({ isTabular: true, suggestedInputs: rows }), declared: table({ inputs: declared }) };
    const { httpUrl } = await startServer({ models });
    const page = await openPage(`${httpUrl}/ui#/models/rows/1`);
    await page.getByLabel(/^width/).fill("1.5");
    await page.getByLabel(/^height/).fill("2");
    await run(page);
    await waitForValues(page, "1,2: 1.5 | 2");
    await page.getByRole("link", { name: /^declared/ }).click();
    await page.getByRole("textbox", { name: /^b/ }).fill("");
    await run(page);
    await waitForValues(page, "1,1: 0", "1,1:");
    await page.getByLabel("as tensors, in place of a table").check();
    await page.getByLabel("Values").fill("[5, 6]");
    await page.getByLabel("Text").fill('["x", "y"]');
    expect(await page.getByLabel("Shape").first().inputValue()).toBe("2, 1");
    await run(page);
    await waitForValues(page, "2,1: 5 | 6", "2,1: x | y");
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("fits its window: %s, %i pixels wide", async (colorScheme, width) => {
    const columns = [
      ...COLUMNS,
      { name: "a_name_that_is_longer_than_a_phone_is_wide_of_a_column_of_numbers", dtype: "float32", shape: [-1] },
      { name: "long", dtype: "bytes", shape: [-1], categories: ["a category ".repeat(15)] },
    ];
    const models = { homes: table({ isTabular: true, suggestedInputs: columns }) };
    const page = await openPage((await startServer({ models })).httpUrl, {
      ...{ colorScheme, viewport: { width, height: 800 } },
    });
    await page.getByRole("button", { name: "Add a row" }).click();
    await page.getByText("Paste rows").click();
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
  });
});

test.skipIf(lacksChromium())("types and shapes beside a long name break at spaces alone, on a phone too", async () => {
  const name = "average_monthly_consumption_of_the_household_in_kilowatt_hours_before_the_renovation";
  const hooks = { inputs: [{ name, dtype: "float32" as const, shape: [-1, 224, 224] }], process: () => ({ y: [1] }) };
  const { httpUrl } = await startServer({ models: { m: { stages: [{ driver: "null" }], hooks } } });
  const page = await openPage(httpUrl, { viewport: { width: 390, height: 800 } });
  await page.getByRole("cell", { name: "FP32", exact: true }).first().waitFor();
  const linesOfWords = `[...document.querySelectorAll("table td, table thead th")].flatMap(({ firstChild: text }) =>
    [...text.data.matchAll(/\\S+/g)].map(({ 0: word, index }) => {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      return word + ": " + range.getClientRects().length;
    }))`;
  const words = await page.evaluate<readonly string[]>(linesOfWords);
  expect(words).toContain("FP32: 1");
  expect(words.filter((word) => !word.endsWith(": 1"))).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
});
