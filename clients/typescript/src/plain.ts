// Values as JSON: what a tool returned, as it is reported, or as the service looks at it.

/** As JSON has it: without functions, with dates as text. Undefined where JSON has nothing. */
export function plainOf(
  value: unknown,
  replace?: (this: never, name: string, each: unknown) => unknown,
): unknown {
  if (typeof value === 'string') return value;
  const json = JSON.stringify(value, replace as Parameters<typeof JSON.stringify>[1]);
  return json === undefined ? undefined : JSON.parse(json);
}

/** As JSON has it. Throws for what is in no JSON (bytes, a Map, a stream): nobody could look at that. */
export function wholeOf(value: unknown): unknown {
  return plainOf(value, function (this: Record<string, unknown>, name, each) {
    if (isOpaque(this[name])) throw new TypeError('JSON cannot hold it.');
    return each;
  });
}

/** An object, neither a list nor of a class; also of another realm, whose Object is not ours. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isOpaque(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  if (ArrayBuffer.isView(value)) return true;
  return !isPlain(value) && !('toJSON' in value) && Object.keys(value).length === 0;
}
