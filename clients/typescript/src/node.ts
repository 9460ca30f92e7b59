/** The part of the client that needs Node: a cursor in a file. */

export { FileCursor } from "./file-cursor.js";
