/** Bytes as base64, with the functions that Node and browsers share. */

/** Bytes that are turned into characters at once; more would be too many arguments of one function. */
const PART_BYTES = 8_192;

/** Returns the padded base64 of bytes. */
export function toBase64(bytes: Uint8Array): string {
  let characters = "";
  for (let begin = 0; begin < bytes.length; begin += PART_BYTES) {
    characters += String.fromCharCode(...bytes.subarray(begin, begin + PART_BYTES));
  }
  return btoa(characters);
}

/** Returns the bytes of a base64 text; `undefined` if it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
