import type { Announcer } from "./announcer.ts";

/** Tells each of them; what one of them has no method for is not told to it. */
export function joinAnnouncers(announcers: readonly Partial<Announcer>[]): Announcer {
  const each = (tell: (announcer: Partial<Announcer>) => void) => announcers.forEach(tell);
  return {
    loading: (models) => each((announcer) => announcer.loading?.(models)),
    ready: (facts) => each((announcer) => announcer.ready?.(facts)),
    ...(announcers.some(({ example }) => example !== undefined) && {
      example: (heading: string, line: string) => each((announcer) => announcer.example?.(heading, line)),
    }),
    changed: (version) => each((announcer) => announcer.changed?.(version)),
    retiring: (delayMs) => each((announcer) => announcer.retiring?.(delayMs)),
    draining: (count) => each((announcer) => announcer.draining?.(count)),
    stopped: () => each((announcer) => announcer.stopped?.()),
    cutOff: (requests, why) => each((announcer) => announcer.cutOff?.(requests, why)),
  };
}
