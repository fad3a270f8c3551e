// Sizes as people write them, such as `64KiB`.

const FORM = /^([1-9][0-9]{0,9})(B|KiB|MiB)$/;
const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 * 1024 };

/** The bytes that a size is; null if it is not written as one. */
export function parseByteSize(text: string): number | null {
  const [, count = '', unit = ''] = FORM.exec(text) ?? [];
  return count === '' ? null : Number(count) * (UNITS[unit] as number);
}
