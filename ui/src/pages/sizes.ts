const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes for people: `256 MiB`, `3.6 MiB`. */
export function sizeOf(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** A share from 0 to 1 as `47 %`. */
export const percentOf = (share: number): string => `${Math.round(share * 100)} %`;
