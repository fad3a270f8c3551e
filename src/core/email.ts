// The one spelling in which e-mail addresses are kept and compared. Only A to Z have another case: Unicode's own
// folding makes different addresses equal (the Kelvin sign becomes a k), and so one person another.

import { visible } from './visible.ts';

const AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g;
const ASCII = /^[\x21-\x7e]+$/;

export function normalEmail(email: string): string {
  return asciiLowerCase(email.replace(AROUND, ''));
}

export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, found => found.toLowerCase());
}

/** Whether every character can be told from every other: outside ASCII many look alike. */
export function isPlainEmail(email: string): boolean {
  return ASCII.test(email);
}

/** Whether it holds control or other characters that nobody sees. */
export function hidesCharacters(email: string): boolean {
  return visible(email) !== email;
}
