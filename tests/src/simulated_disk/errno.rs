//! Linux's numbers of the errors a disk gives, so that a simulated error has the kind of a real one.

/// No such file or folder.
pub const ENOENT: i32 = 2;
/// Input/output error.
pub const EIO: i32 = 5;
/// The handle is not open for this.
pub const EBADF: i32 = 9;
/// Permission denied.
pub const EACCES: i32 = 13;
/// Device or resource busy.
pub const EBUSY: i32 = 16;
/// The name is taken.
pub const EEXIST: i32 = 17;
/// Not a folder.
pub const ENOTDIR: i32 = 20;
/// Is a folder.
pub const EISDIR: i32 = 21;
/// Invalid argument.
pub const EINVAL: i32 = 22;
/// Too many open files.
pub const EMFILE: i32 = 24;
/// No space left on the device.
pub const ENOSPC: i32 = 28;
/// Read-only file system.
pub const EROFS: i32 = 30;
/// The name is too long.
pub const ENAMETOOLONG: i32 = 36;
/// The folder is not empty.
pub const ENOTEMPTY: i32 = 39;
/// The disk quota is used up.
pub const EDQUOT: i32 = 122;
