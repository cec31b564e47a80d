# The library plain_eigen: what an Eigen program built for this machine does, as a baseline.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(OpenMP REQUIRED COMPONENTS CXX)

add_library(plain_eigen STATIC ${CMAKE_CURRENT_LIST_DIR}/plain_eigen.cpp)
target_include_directories(plain_eigen PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(plain_eigen PRIVATE Eigen3::Eigen PUBLIC OpenMP::OpenMP_CXX)
target_compile_options(plain_eigen PRIVATE -O3 -march=native -DNDEBUG -w)
