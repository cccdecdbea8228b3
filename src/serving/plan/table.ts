/** An action, and the row that says so. */
export type InRow<Deed> = Deed & { readonly row: string };

/** One row of a plan: its action if it is about this stage, and its condition holds. */
type Row<Stage, Facts, Deed> = (stage: Stage, facts: Facts, now: number) => InRow<Deed> | undefined;

/** The condition of a row, and its action; without a condition it always holds. */
interface Rule<Stage, Facts, Deed> {
  readonly when?: (stage: Stage, facts: Facts, now: number) => boolean;
  readonly act: (stage: Stage, facts: Facts) => Deed;
}

/** A stage of one kind. */
type In<Stage, Is> = Extract<Stage, { readonly is: Is }>;

/** Makes the rows of one plan. Each has a name, and is about some stages alone. */
export function rowsFor<Stage extends { readonly is: string }, Facts, Deed>() {
  return <Is extends Stage["is"]>(
    id: string,
    stages: readonly Is[],
    { when = () => true, act }: Rule<In<Stage, Is>, Facts, Deed>,
  ): Row<Stage, Facts, Deed> => {
    const isIn = (stage: Stage): stage is In<Stage, Is> => stages.some((is) => is === stage.is);
    return (stage, facts, now) =>
      isIn(stage) && when(stage, facts, now) ? { row: id, ...act(stage, facts) } : undefined;
  };
}

/** Makes a plan of its rows: the first that holds acts; undefined = none does. */
export function firstOf<Stage, Facts, Deed>(rows: readonly Row<Stage, Facts, Deed>[]): Row<Stage, Facts, Deed> {
  return (stage, facts, now) => {
    for (const row of rows) {
      const action = row(stage, facts, now);
      if (action !== undefined) return action;
    }
    return undefined;
  };
}
