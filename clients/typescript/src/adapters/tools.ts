// Containers of tools, and tools with one function replaced. No framework is imported: a tool is an object of which an
// adapter knows the one function that runs it.

import { InvalidConfiguration } from '../errors.ts';

/** What agents are given their tools in. */
export type Tools = readonly object[] | Readonly<Record<string, object>>;

/** The same container, with every tool guarded. `key` is the index in an array, or the name in a record. */
export function mapTools<T extends Tools>(tools: T, guard: (tool: object, key: string) => object): T {
  if (typeof tools !== 'object' || tools === null)
    throw new InvalidConfiguration('guardTools takes the tools themselves, in an array or an object.');
  const guarded = Object.entries<object>(tools).map(([key, tool]) => [key, guard(tool, key)] as const);
  return (Array.isArray(tools) ? guarded.map(([, tool]) => tool) : Object.fromEntries(guarded)) as T;
}

/** A copy of the tool, of the same class and with the same properties, except for the functions given here. */
export function replaced<T extends object>(tool: T, functions: Partial<T>): T {
  const own = Object.getOwnPropertyDescriptors(functions);
  return Object.create(Object.getPrototypeOf(tool), { ...Object.getOwnPropertyDescriptors(tool), ...own });
}

/** A tool that would run where no guard can stand is refused at set-up: left as it is, it would look guarded. */
export function unguardable(name: string, why: string): InvalidConfiguration {
  return new InvalidConfiguration(
    `The tool ${name} cannot be guarded: ${why} Leave it out of guardTools if it may run without a verdict.`,
  );
}
