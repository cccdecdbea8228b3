/** A number of milliseconds with three digits: `0.482`, `12.3`, `1500`. */
export function msText(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(ms) ? "-" : digits(ms);
}

/** A number of requests per second with three or more digits. */
export function rateText(perSecond: number): string {
  return digits(perSecond);
}

/** A share as `12 %`. */
export function shareText(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
