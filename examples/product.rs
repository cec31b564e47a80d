// Multiplies two small matrices through the C interface from Rust: rustc -l dylib=estoc product.rs
use std::ffi::{c_char, c_int, c_void, CStr};
use std::mem::size_of;
use std::ptr::{null, null_mut};

#[repr(C)]
struct Tensor {
    struct_size: usize,
    data: *mut c_void,
    dtype: *const c_char,
    shape: *const i64,
    strides: *const i64, // null: row-major
    rank: c_int,
    device: c_int, // -1: the host
}

#[repr(C)]
struct Gemm {
    struct_size: usize,
    a: *const Tensor,
    b: *const Tensor,
    out: *const Tensor,
}

// Objects of the library.
type Object = *mut c_void;

#[link(name = "estoc")]
extern "C" {
    fn estoc_last_error() -> *const c_char;
    fn estoc_arguments_gemm(gemm: *const Gemm, arguments: *mut Object) -> c_int;
    fn estoc_arguments_destroy(arguments: Object);
    fn estoc_kernel_find(arguments: Object, query: *const c_void, kernel: *mut Object) -> c_int;
    fn estoc_kernel_by_name(name: *const c_char, kernel: *mut Object) -> c_int;
    fn estoc_kernel_compile(
        kernel: Object,
        target: *const c_char,
        options: *const c_void,
        artifact: *mut Object,
    ) -> c_int;
    fn estoc_kernel_destroy(kernel: Object);
    fn estoc_artifact_run(artifact: Object, arguments: Object, options: *const c_void) -> c_int;
    fn estoc_artifact_destroy(artifact: Object);
}

fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(estoc_last_error()) };
    Err(message.to_string_lossy().into_owned())
}

// The object that a function writes to its last argument.
fn make(function: impl FnOnce(*mut Object) -> c_int) -> Result<Object, String> {
    let mut object = null_mut();
    check(function(&mut object)).map(|()| object)
}

fn matrix(data: &mut [f32], shape: &[i64; 2]) -> Tensor {
    Tensor {
        struct_size: size_of::<Tensor>(),
        data: data.as_mut_ptr().cast(),
        dtype: b"f32\0".as_ptr().cast(),
        shape: shape.as_ptr(),
        strides: null(),
        rank: 2,
        device: -1,
    }
}

fn main() -> Result<(), String> {
    let mut a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut b = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    let mut out = [0.0; 4];
    let (a_shape, b_shape, out_shape) = ([2, 3], [3, 2], [2, 2]);
    let ta = matrix(&mut a, &a_shape);
    let tb = matrix(&mut b, &b_shape);
    let tout = matrix(&mut out, &out_shape);
    let gemm = Gemm { struct_size: size_of::<Gemm>(), a: &ta, b: &tb, out: &tout };
    unsafe {
        let arguments = make(|made| estoc_arguments_gemm(&gemm, made))?;
        let kernel = make(|made| estoc_kernel_find(arguments, null(), made))?;
        let target = b"cpu\0".as_ptr().cast();
        let artifact = make(|made| estoc_kernel_compile(kernel, target, null(), made))?;
        check(estoc_artifact_run(artifact, arguments, null()))?;
        println!("{} {} {} {}", out[0], out[1], out[2], out[3]);

        let name = b"nothing\0".as_ptr().cast();
        if let Err(message) = make(|made| estoc_kernel_by_name(name, made)) {
            eprintln!("{message}");
        }
        estoc_artifact_destroy(artifact);
        estoc_kernel_destroy(kernel);
        estoc_arguments_destroy(arguments);
    }
    Ok(())
}
