import { expect, it } from "vitest";
import { type ExpectedUse, TurnClient, WaitingPiece, WaitingWork } from "../../../src/platform/limits/waiting-work.ts";
import { Random } from "../../grpc/random.ts";

function nothing(): void {}

function pieceOf(use: ExpectedUse, isSmall = () => true): WaitingPiece {
  return new WaitingPiece(use, nothing, isSmall);
}

/** The first of those that should take least, of which each use has its oldest alone. */
function smallestOf(waiting: readonly WaitingPiece[]): WaitingPiece | undefined {
  const expected = ({ use, isSmall }: WaitingPiece) => use.expectedMs + (isSmall() ? 0 : 1000);
  const firsts = waiting.filter((piece, at) => waiting.findIndex(({ use }) => use === piece.use) === at);
  return firsts.sort((one, other) => expected(one) - expected(other) || one.order - other.order)[0];
}

it.each([1, 2, 3])(
  "gives the oldest piece of each client in turn and the one that should take least, as a look at all of them does (%i)",
  (seed) => {
    const random = new Random(seed);
    const clients = Array.from({ length: 4 }, () => new TurnClient());
    const uses = Array.from({ length: 12 }, (_, index) => ({
      expectedMs: 1,
      client: clients[index % 4] as TurnClient,
    }));
    const work = new WaitingWork();
    const model: WaitingPiece[] = [];
    let order: TurnClient[] = [];
    const take = (taken: WaitingPiece, wanted: WaitingPiece | undefined) => {
      expect(taken.order).toBe(wanted?.order);
      model.splice(model.indexOf(taken), 1);
      order = order.filter((client) => client !== taken.use.client);
      if (model.some(({ use }) => use.client === taken.use.client)) order.push(taken.use.client);
    };
    for (let step = 0; step < 3000; step++) {
      const use = random.pick(uses);
      if (random.below(2) === 0) {
        const isSmall = random.below(3) > 0;
        const piece = pieceOf(use, () => isSmall);
        work.add(piece);
        model.push(piece);
        if (!order.includes(use.client)) order.push(use.client);
      } else if (random.below(3) === 0) {
        use.expectedMs = random.below(5);
        work.update(use);
      } else if (model.length > 0) {
        const oldest = model.find(({ use: { client } }) => client === order[0]);
        if (random.below(2) === 0) take(work.takeOldest(), oldest);
        else take(work.takeSmallest(), smallestOf(model));
      }
      expect(work.size).toBe(model.length);
    }
  },
);

it("looks at few pieces to find one, however many wait, of one connection or of many", () => {
  const pieces = 20_000;
  for (const uses of [1, pieces]) {
    let looks = 0;
    const use = () => ({
      client: new TurnClient(),
      get expectedMs() {
        looks++;
        return 1;
      },
    });
    const all = Array.from({ length: uses }, use);
    const work = new WaitingWork();
    for (let piece = 0; piece < pieces; piece++) work.add(pieceOf(all[piece % uses] as ExpectedUse));
    for (; work.size > 0; work.takeOldest()) if (work.size > 1) work.takeSmallest();
    expect(looks).toBeLessThan(10 * pieces);
  }
});
