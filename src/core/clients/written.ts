// Writes entries as text: a whole small file to show, and the pieces that the command line puts into existing files.

import type { Json } from '../wire/json.ts';
import type { ConfigFile, Entry, Scope, Setup } from './client.ts';

/** What a file with nothing but our entries looks like. */
export function configurationOf(file: ConfigFile, setup: Setup, scope: Scope): string {
  const root = entriesAsValue(file.entries(setup, scope));
  if (file.format === 'yaml') return yamlBlock(root, '');
  if (file.format === 'json') return `${JSON.stringify(root, null, 2)}\n`;
  return file
    .entries(setup, scope)
    .map(({ at, value }) => tomlTable(at, value))
    .join('\n');
}

interface Tree {
  [key: string]: Json;
}

export function entriesAsValue(entries: readonly Entry[]): Tree {
  const root: Tree = {};
  for (const { at, how, value } of entries) {
    let into = root;
    for (const key of at.slice(0, -1)) {
      into[key] ??= {};
      into = into[key] as Tree;
    }
    const last = at.at(-1) as string;
    into[last] = how === 'append' ? [...((into[last] as Json[] | undefined) ?? []), value] : value;
  }
  return root;
}

/** A table with its header, as lines. */
export function tomlTable(at: readonly string[], value: Json): string {
  const lines = Object.entries(value as Tree).map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}`);
  return `${[`[${at.map(tomlKey).join('.')}]`, ...lines].join('\n')}\n`;
}

function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Texts of JSON are basic strings of TOML, which knows the same escapes. */
function tomlValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value as Tree).map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}`);
  return `{ ${pairs.join(', ')} }`;
}

/** A block mapping, each line with this indentation. What is no object is written as JSON, which YAML reads. */
export function yamlBlock(value: Tree, indent: string): string {
  return Object.entries(value)
    .map(([key, item]) => {
      const inner = typeof item === 'object' && item !== null && !Array.isArray(item) ? (item as Tree) : null;
      if (inner === null || Object.keys(inner).length === 0) return `${indent}${key}: ${yamlScalar(item)}\n`;
      return `${indent}${key}:\n${yamlBlock(inner, `${indent}  `)}`;
    })
    .join('');
}

function yamlScalar(value: Json): string {
  return typeof value === 'string' &&
    /^[A-Za-z][\w ]*$/.test(value) &&
    !/^(true|false|yes|no|on|off|null|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}
