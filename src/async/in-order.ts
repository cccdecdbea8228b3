/**
 * Results of pieces of work in their order. At most `atOnce` are under way or wait to be taken, so that no more are
 * started than are taken. Ends with the first error in that order.
 */
export async function* inOrder<Work, Result>(
  work: Iterable<Work>,
  start: (work: Work) => Promise<Result>,
  atOnce: number,
): AsyncGenerator<Result> {
  const started: Promise<Result>[] = [];
  for (const each of work) {
    const result = start(each);
    // It is thrown when its turn comes, if it does.
    result.catch(() => {});
    started.push(result);
    if (started.length >= atOnce) yield (await started.shift()) as Result;
  }
  while (started.length > 0) yield (await started.shift()) as Result;
}
