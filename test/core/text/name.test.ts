// Names: what a server or tool may be called, and that a full name splits in one way only.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  joinName,
  scopeFault,
  serverNameFault,
  splitName,
  textFault,
  toolNameFault,
} from '../../../src/core/text/name.ts';

test('1 to 128 code points, counted as such', () => {
  for (const fault of [serverNameFault, toolNameFault]) {
    expect(fault('')).toContain('1 to 128');
    expect(fault('a')).toBeNull();
    expect(fault('a'.repeat(128))).toBeNull();
    expect(fault('a'.repeat(129))).toContain('1 to 128');
    expect(fault('😀'.repeat(128))).toBeNull();
    expect(fault('😀'.repeat(129))).toContain('1 to 128');
    expect(fault(`${'a'.repeat(127)}é`)).toBeNull();
  }
});

test('no control characters, no lone surrogates', () => {
  for (const fault of [serverNameFault, toolNameFault]) {
    for (const char of ['\0', '\n', '\t', '\x1b', '\x7f', '\x80', '\x9f']) {
      expect(fault(`a${char}b`)).toContain('control');
    }
    for (const text of ['\ud800', 'a\udc00', '\ude00\ud83d']) expect(fault(text)).toContain('surrogate');
    expect(fault('zero\u200bwidth')).toBeNull();
  }
});

test('a server name has no "__" and no "_" at its ends; a tool name may', () => {
  for (const name of ['a__b', 'a___b', '__', '_a', 'a_', '_']) expect(serverNameFault(name)).not.toBeNull();
  for (const name of ['a_b', 'a-b', 'a b', '*', 'é']) expect(serverNameFault(name)).toBeNull();
  for (const name of ['a__b', '_a', 'a_', '__', '_', '*', ' ']) expect(toolNameFault(name)).toBeNull();
});

test('a full name splits at its first "__"', () => {
  expect(splitName('github__create_issue')).toEqual({ serverName: 'github', toolName: 'create_issue' });
  expect(splitName('s__a__b')).toEqual({ serverName: 's', toolName: 'a__b' });
  expect(splitName('s___a')).toEqual({ serverName: 's', toolName: '_a' });
  expect(splitName('a_b__c')).toEqual({ serverName: 'a_b', toolName: 'c' });
  for (const text of ['', 'github', 's_a', '__a', 's__', '_s__a', 's__a\n', `${'s'.repeat(129)}__a`]) {
    expect(splitName(text)).toBeNull();
  }
});

test('a scope names a tool in full, without a wildcard', () => {
  for (const entry of ['github__get_issue', 's__a__b']) expect(scopeFault(entry)).toBeNull();
  for (const entry of ['', 'github', '__a', 's__']) {
    expect(scopeFault(entry)).toBe('must be a full tool name, <server>__<tool>');
  }
  for (const entry of ['*', 'github__*', '*__a']) expect(scopeFault(entry)).toContain('have no wildcards');
});

test('join and split are each other’s inverse for every valid pair', () => {
  const chars = fc.constantFrom('a', 'b', '_', '*', 'é', '😀', ' ');
  const text = fc.string({ unit: chars, minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(
      text.filter(name => serverNameFault(name) === null),
      text,
      (serverName, toolName) => {
        expect(splitName(joinName(serverName, toolName))).toEqual({ serverName, toolName });
      },
    ),
    { numRuns: 5000, seed: 9 },
  );
});

test('labels may be empty where the least length is 0', () => {
  expect(textFault('', 0, 200)).toBeNull();
  expect(textFault('x'.repeat(200), 0, 200)).toBeNull();
  expect(textFault('é'.repeat(201), 0, 200)).toContain('at most 200');
  expect(textFault('x'.repeat(129), 1, 200)).toBeNull();
});
