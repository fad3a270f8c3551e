// The normal form in which e-mail addresses are kept and compared. Only A to Z are folded to lower case: Unicode's case
// folding makes different addresses equal (the Kelvin sign becomes a k), so one person could pass for another.

import { visible } from './visible.ts';

const AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g;
const ASCII = /^[\x21-\x7e]+$/;

export function normalEmail(email: string): string {
  return asciiLowerCase(email.replace(AROUND, ''));
}

export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, found => found.toLowerCase());
}

/** Whether a text could be an address, alone and without a name. */
export function isEmail(text: string): boolean {
  return /^[^\s@<>,]+@[^\s@<>,]+$/.test(text);
}

/** Whether the address is ASCII only; many characters outside ASCII look like another one. */
export function isPlainEmail(email: string): boolean {
  return ASCII.test(email);
}

/** Whether the address contains control characters or other invisible ones. */
export function hidesCharacters(email: string): boolean {
  return visible(email) !== email;
}
