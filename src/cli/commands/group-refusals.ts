/** A driver that does not take a model, and its reason. */
export interface Refusal {
  readonly driver: string;
  readonly problem: string;
}

/** A text for each reason: `onnx, openvino: The model does not exist.` */
export function groupRefusals(refusals: readonly Refusal[]): string[] {
  const problems = [...new Set(refusals.map(({ problem }) => problem))];
  return problems.map((problem) => {
    const drivers = refusals.filter((refusal) => refusal.problem === problem).map(({ driver }) => driver);
    return `${drivers.join(", ")}: ${problem}`;
  });
}
