// The domain's one error: what it is called where it is written down, and the sentence that a person reads.

import { expect, test } from 'bun:test';
import { GuardError, invalidInput } from '../../src/core/errors.ts';

test('an error says by its name that it is one of ours', () => {
  const error = new GuardError('overloaded', 'Too many wait.', { retryAfter: 1 });
  expect(String(error)).toBe('GuardError: Too many wait.');
  expect(error).toMatchObject({ code: 'overloaded', retryAfter: 1, errors: undefined, allow: undefined });
});

test('the first fault of an input is the sentence, with its place unless it is the whole input', () => {
  const faults = [
    { path: '/rules/0', message: 'must be an object' },
    { path: '', message: 'has too much' },
  ];
  expect(invalidInput(faults)).toMatchObject({ message: '/rules/0: must be an object', errors: faults });
  expect(invalidInput(faults.toReversed()).message).toBe('has too much');
  expect(invalidInput([])).toMatchObject({ code: 'invalid_input', message: 'The input is invalid.' });
});
