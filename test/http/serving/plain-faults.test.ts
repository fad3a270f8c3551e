// What is wrong with input is told in plain words, whichever part of a schema it does not fit.

import { expect, test } from 'bun:test';
import { z } from 'zod';
import type { GuardError } from '../../../src/core/errors.ts';
import { fit } from '../../../src/http/serving/body.ts';

const schema = z.strictObject({
  name: z.string().max(5).optional(),
  list: z
    .array(z.strictObject({ tool: z.string(), action: z.enum(['allow', 'deny']).optional() }))
    .max(2)
    .optional(),
  count: z.int().min(1).max(5).optional(),
  on: z.boolean().optional(),
  to: z.email().optional(),
  either: z.union([z.string(), z.int()]).optional(),
});

const told = (value: unknown): string[] => {
  try {
    fit(schema, value);
    return [];
  } catch (error) {
    return ((error as GuardError).errors ?? []).map(({ path, message }) => `${path} ${message}`);
  }
};

test('in plain words', () => {
  expect(told(5)).toEqual([' must be an object']);
  expect(told({ name: 5, count: 'x', on: 1, list: 'x' })).toEqual([
    '/name must be a string',
    '/list must be a list',
    '/count must be a number',
    '/on must be true or false',
  ]);
  expect(told({ name: 'x'.repeat(6), count: 0 })).toEqual([
    '/name must have at most 5 characters',
    '/count must be at least 1',
  ]);
  expect(told({ count: 1.5 })).toEqual(['/count must be a whole number']);
  expect(told({ list: [{}] })).toEqual(['/list/0/tool is required']);
  expect(told({ list: [{ tool: 'a', action: 'x' }] })).toEqual(['/list/0/action must be one of allow, deny']);
  expect(told({ to: 'nobody' })).toEqual(['/to must be an e-mail address']);
  expect(told({ either: true })).toEqual(['/either is not of a form that is allowed here']);
});

test('an unknown field with the one that may be meant', () => {
  expect(told({ nmae: 'x', quantity: 1 })).toEqual([
    '/nmae unknown field. Did you mean "name"?',
    '/quantity unknown field',
  ]);
  expect(told({ list: [{ tol: 'a', tool: 'b' }] })).toEqual([
    '/list/0/tol unknown field. Did you mean "tool"?',
  ]);
});
