// What all lists have in common: how much of them is requested, and how they are printed.

import { type Command, InvalidArgumentError } from 'commander';
import type { Http, Page, Query } from './http.ts';
import { type IO, say } from './io.ts';
import { type Column, printJson, printTable } from './print.ts';

export interface ListOptions {
  limit: number;
  cursor?: string;
  all?: boolean;
  json?: boolean;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

export function withList(command: Command): Command {
  return command
    .option('--limit <n>', `how many, at most ${MAX_LIMIT}`, wholeNumber(MAX_LIMIT), DEFAULT_LIMIT)
    .option('--cursor <cursor>', 'continue after the previous page')
    .option('--all', 'every page');
}

export function wholeNumber(max: number): (text: string) => number {
  return text => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > max)
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
    return value;
  };
}

interface List<T> {
  path: string;
  plural: string;
  query?: Query;
  columns: readonly Column<T>[];
  nothing: string;
}

export async function printList<T>(io: IO, http: Http, options: ListOptions, list: List<T>): Promise<void> {
  const { items, nextCursor } = await fetchList<T>(http, options, list);
  if (options.json) return printJson(io, { [list.plural]: items, nextCursor });
  printTable(io, items, list.columns, list.nothing);
  if (nextCursor !== null) say(io, `There are more: --all, or --cursor ${nextCursor}`);
}

async function fetchList<T>(http: Http, options: ListOptions, list: List<T>): Promise<Page<T>> {
  const { path, plural, query = {} } = list;
  if (!options.all) return firstOf<T>(http, path, plural, query, options.limit, options.cursor);
  const items: T[] = [];
  for await (const item of http.all<T>(path, plural, query)) items.push(item);
  return { items, nextCursor: null };
}

/**
 * The first `limit` items. A page may have fewer items without being the last one, because a search may end it early.
 */
export async function firstOf<T>(
  http: Http,
  path: string,
  plural: string,
  query: Query,
  limit: number,
  cursor?: string,
): Promise<Page<T>> {
  const items: T[] = [];
  for (let after = cursor; ; ) {
    const page: Page<T> = await http.page<T>(path, plural, {
      ...query,
      limit: limit - items.length,
      cursor: after,
    });
    items.push(...page.items);
    if (page.nextCursor === null || items.length >= limit) return { items, nextCursor: page.nextCursor };
    after = page.nextCursor;
  }
}
