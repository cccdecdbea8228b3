import { expect, test } from "vitest";
import { ClientAccount } from "../../src/platform/limits/client-account.ts";
import { Admission, type Admitted } from "../../src/serving/admission.ts";
import { ModelPlaces } from "../../src/serving/model-places.ts";

const MAX = 64;

/** One of a server's models. */
function createModel(admission: Admission, model: string) {
  const places = new ModelPlaces(model);
  const info = { id: "1", model, version: 1n, signature: "" };
  return (client: ClientAccount): Admitted => {
    places.enter(0);
    try {
      return admission.enter(info, { places, client });
    } catch (reason) {
      places.leave(0);
      throw reason;
    }
  };
}

/** Admits requests until one is refused; returns their number. */
function fill(enter: () => Admitted): number {
  for (let count = 0; ; count++) {
    try {
      enter();
    } catch {
      return count;
    }
  }
}

test("a flood on one model takes all places, and refuses neither other models nor other clients", () => {
  const admission = new Admission(MAX);
  const [slow, other] = [createModel(admission, "slow"), createModel(admission, "other")];
  const [greedy, modest] = [new ClientAccount("greedy"), new ClientAccount("modest")];
  expect(fill(() => slow(greedy))).toBe(MAX);
  expect(() => slow(greedy)).toThrow(
    "This client has 64 and the model slow 64 of the places: 64 requests are under way already (--max-queue); try again later.",
  );
  const admitted = [other(greedy), other(modest), slow(modest)];
  expect(admission.count).toBe(MAX + 3);
  expect(modest.places).toBe(2);
  for (const each of admitted) admission.leave(each);
  expect([admission.count, modest.places]).toEqual([MAX, 0]);
});

test("floods of many models and clients leave a place for the next one", () => {
  const admission = new Admission(1024);
  for (const name of ["a", "b", "c", "d"]) {
    const enter = createModel(admission, name);
    const client = new ClientAccount(name);
    expect(fill(() => enter(client))).toBeGreaterThan(0);
  }
  const next = createModel(admission, "next");
  expect(() => next(new ClientAccount("next"))).not.toThrow();
  expect(admission.count).toBeLessThanOrEqual(1024 + 128);
});

test("a small limit is meant as it is", () => {
  const admission = new Admission(2);
  const enter = createModel(admission, "m");
  expect(fill(() => enter(new ClientAccount("each another")))).toBe(2);
});

test("a model's own limit keeps places for clients that have few, where it has room for them", () => {
  const places = new ModelPlaces("m");
  places.limit({ maxQueue: MAX });
  const [greedy, modest] = [new ClientAccount("greedy"), new ClientAccount("modest")];
  const enter = (client: ClientAccount) => {
    places.enter(0, client);
    client.places++;
  };
  for (let count = 0; count < MAX; count++) enter(greedy);
  expect(() => enter(greedy)).toThrow("The model m has 64 requests under way already (its maxQueue)");
  enter(modest);
  enter(modest);
  expect(() => enter(modest)).toThrow("its maxQueue");
  places.limit({ maxQueue: 15 });
  expect(() => enter(new ClientAccount("third"))).toThrow("its maxQueue");
});
