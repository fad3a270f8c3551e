// Which passwords will do, and that hashing waits in line.

import { expect, test } from 'bun:test';
import { hashPassword, passwordFaults, passwordFits } from '../../src/guard/people/passwords.ts';

const EMAIL = 'ada.lovelace@example.com';

test.each([
  'fourteen chars',
  'aaaaaaaaaaaaaaaaaaaa',
  'abababababababab',
  'passwordpassword',
  '123412341234123',
  '1234567890123456',
  'abcdefghijklmnop',
  'QWERTYUIOPasdfgh',
  'ponmlkjihgfedcba',
  'correct horse battery staple',
  'Correct-Horse-Battery-Staple!',
  'The quick brown fox jumps over the lazy dog.',
  'ada.lovelace@example.com',
  'ADA.Lovelace@example.com1!',
  '!!!!!!!!!!!!!!!!!!!!!!',
  'x'.repeat(1001),
])('refused: %s', password => {
  expect(passwordFaults(password, EMAIL, '/password')).toHaveLength(1);
});

test.each([
  'violet kettle orbit lantern',
  'fifteen charsss',
  'löwe tür ähre öl ß',
  '私は毎朝コーヒーを二杯飲みます',
  '~!@#$%^&*()_+{}|:"<>?',
  'tK9#mQ2$vL7@pX4',
  'a word on ada.lovelace@example.com',
])('taken: %s', password => {
  expect(passwordFaults(password, EMAIL, '/password')).toEqual([]);
});

test('a password fits its own hash, however its characters are composed, and no other', async () => {
  const hash = await hashPassword('caf\u00e9 noir et croissants');
  expect(hash).toStartWith('$argon2id$');
  expect(await passwordFits('cafe\u0301 noir et croissants', hash)).toBe(true);
  expect(await passwordFits('cafe noir et croissants', hash)).toBe(false);
  expect(await passwordFits('anything', null)).toBe(false);
});

test('the work for an unknown account is that for a known one', async () => {
  const cost = (hash: string) => hash.split('$').slice(1, 4).join('$');
  const path = `${import.meta.dir}/../../src/guard/people/passwords.ts`;
  const source = await Bun.file(path).text();
  // By another name, under which `npm test` does not make its hashes cheap.
  const { hashPassword }: typeof import('../../src/guard/people/passwords.ts') = await import(
    `${path}?as-it-is`
  );
  const nobody = /'(\$argon2id\$[^']+)'/.exec(source)?.[1] ?? '';
  expect(cost(nobody)).toBe(cost(await hashPassword('violet kettle orbit lantern')));
});

test('those who wait are answered in turn, and past a bound the rest is turned away', async () => {
  const cheap = await Bun.password.hash('x', { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  const fits = (n: number) => passwordFits(n % 2 === 0 ? 'x' : 'y', cheap).catch(error => error.code);
  const ends = await Promise.all(Array.from({ length: 103 }, (_, n) => fits(n)));
  expect(ends.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, n) => n % 2 === 0));
  expect(ends.slice(100)).toEqual(['overloaded', 'overloaded', 'overloaded']);
  expect(await fits(0)).toBe(true);
});

test('a hash that cannot be read fails only for the caller that asked', async () => {
  const ends = await Promise.allSettled([passwordFits('x', 'no hash'), passwordFits('anything', null)]);
  expect(ends.map(each => each.status)).toEqual(['rejected', 'fulfilled']);
});
